"""Where the next fetch begins."""

from ottla.pipeline.reading import end_offset
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record


def batch(base_offset: int, count: int) -> bytes:
    return bytes(
        build_batch(
            [Record(timestamp=0, value=b"v") for _ in range(count)], base_offset=base_offset
        )
    )


def test_the_next_fetch_begins_behind_the_last_whole_batch() -> None:
    records = batch(10, 3) + batch(20, 5)
    assert end_offset(records, 10) == 25
    assert end_offset(records[:-1], 10) == 13
    assert end_offset(records[:-1], 15) == 15


def test_without_a_whole_batch_nothing_is_gained() -> None:
    for records in (b"", b"\x00" * 200, batch(10, 1)[:-1]):
        assert end_offset(records, 10) == 10
