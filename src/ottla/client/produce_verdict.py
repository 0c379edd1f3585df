"""Pure: what to do with a batch after what a broker said of it."""

from __future__ import annotations

from enum import Enum
from typing import Final

from ottla.client.errors import error_code
from ottla.protocol.errors import ErrorCode


class Verdict(Enum):
    """What to do with a batch."""

    WRITTEN = "written"
    AGAIN = "send again"
    IN_PARTS = "send again in two parts"
    NEW_EPOCH = "send again under the next epoch"
    FAILED = "give up"


STALE_METADATA: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    )
)
"""Errors that mean: the leader is somebody else, ask who."""


_NOT_WRITTEN: Final = frozenset(
    (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
)
"""A broker that says so has looked for the batch among those it wrote, and not found it."""

_REFUSED: Final = frozenset(
    (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    )
)
"""The broker did not write the batch this time; whether it did before remains as it was."""


def in_doubt(code: int, before: bool) -> bool:
    """Whether a broker that answered this may have written the batch, now or `before`.

    A leader that has appended, and then loses its office or waits in vain for replicas, also answers with an error.
    """
    if code in _NOT_WRITTEN:
        return False
    return before or code not in _REFUSED


def verdict(
    code: int, *, oldest: bool, transactional: bool, may_retry: bool, records: int = 1
) -> Verdict:
    """What an error code means for a batch; `oldest`: nothing before it is still to be written."""
    if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
        return Verdict.WRITTEN
    if not may_retry:
        return Verdict.FAILED
    if code == ErrorCode.MESSAGE_TOO_LARGE and records > 1:
        return Verdict.IN_PARTS
    if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
        # A batch in front of it failed and will be sent again; alone, it means that records were lost.
        return Verdict.FAILED if oldest else Verdict.AGAIN
    if code == ErrorCode.UNKNOWN_PRODUCER_ID:
        # Retention removed all the broker knew of this producer (KIP-360).
        return Verdict.FAILED if transactional else Verdict.NEW_EPOCH
    return Verdict.AGAIN if error_code(code).retriable else Verdict.FAILED
