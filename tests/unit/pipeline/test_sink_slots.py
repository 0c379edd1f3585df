"""What a part of a sink on Apache Kafka makes of the ledger that it finds."""

import pytest

from ottla.base.errors import OttlaError
from ottla.client.positions import OffsetAndMetadata
from ottla.pipeline.sink_message import Claim
from ottla.pipeline.sink_slots import Ledger, is_written

STREAM = Claim("sink", "run", 4, "query")
LAST = Ledger(4, "query", 8)


def test_a_ledger_is_an_offset_and_its_note() -> None:
    assert LAST.offset() == OffsetAndMetadata(5, "8 query")
    assert Ledger.read(LAST.offset()) == LAST


@pytest.mark.parametrize(("batch", "written"), [(5, False), (4, True)])
def test_the_last_batch_is_there_and_the_next_is_not(batch: int, written: bool) -> None:
    assert is_written(LAST, LAST._replace(batch=batch), STREAM) is written
    assert not is_written(None, LAST, STREAM)


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (LAST._replace(batch=3), "has batch 4 of query query"),
        (LAST._replace(query_id="other"), "the checkpoint was deleted or restored"),
        (LAST._replace(slots=4), "was begun with slots=8"),
    ],
)
def test_what_nobody_could_tell_is_refused(mine: Ledger, said: str) -> None:
    with pytest.raises(OttlaError, match=said):
        is_written(LAST, mine, STREAM)


def test_a_version_of_an_application_that_is_older_was_written() -> None:
    claim = Claim("app", "run", 3, skip_older=True)
    assert is_written(Ledger(4, "", 8), Ledger(3, "", 8), claim)
