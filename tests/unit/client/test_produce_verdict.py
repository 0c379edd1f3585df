"""What a producer makes of what a broker says of a batch."""

import pytest

from ottla.client.produce_verdict import Verdict, verdict
from ottla.protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "oldest", "transactional", "expected"),
    [
        (ErrorCode.NONE, True, False, Verdict.WRITTEN),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, True, False, Verdict.WRITTEN),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True, False, Verdict.AGAIN),
        (ErrorCode.CONCURRENT_TRANSACTIONS, True, True, Verdict.AGAIN),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, False, False, Verdict.AGAIN),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, True, False, Verdict.FAILED),
        (ErrorCode.UNKNOWN_PRODUCER_ID, True, False, Verdict.NEW_EPOCH),
        (ErrorCode.UNKNOWN_PRODUCER_ID, True, True, Verdict.FAILED),
        (ErrorCode.MESSAGE_TOO_LARGE, True, False, Verdict.FAILED),
        (ErrorCode.PRODUCER_FENCED, True, True, Verdict.FAILED),
        (12345, True, False, Verdict.FAILED),
    ],
)
def test_verdicts(code: int, oldest: bool, transactional: bool, expected: Verdict) -> None:
    assert verdict(code, oldest=oldest, transactional=transactional, may_retry=True) is expected


def test_out_of_time_means_failed_unless_it_was_written() -> None:
    for code, expected in ((7, Verdict.FAILED), (0, Verdict.WRITTEN)):
        ruling = verdict(code, oldest=True, transactional=False, may_retry=False)
        assert ruling is expected
