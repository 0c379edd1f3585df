"""How far a consumer has got: seeks, resets, and fetches that come too late."""

import pytest

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import ConsumerRecord
from ottla.client.fetched import Fetched
from ottla.client.positions import MOST_FETCHED, OffsetAndMetadata, Position, Positions
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record

ONE, TWO = TopicPartition("t", 1), TopicPartition("t", 2)


def fetched(offset: int, count: int) -> Fetched:
    return Fetched(ONE, build_batch([Record()] * count, base_offset=offset, leader_epoch=6), offset)


def test_fetching_goes_ahead_of_reading() -> None:
    position = Position()
    position.seek(10)
    assert position.arrived(10, fetched(10, 5))
    assert (position.fetch_offset, position.offset, position.last_epoch) == (15, 10, 6)
    assert position.wants_more()
    assert position.arrived(15, fetched(15, 5))
    assert len(position.fetched) == MOST_FETCHED
    assert not position.wants_more()


def test_what_was_asked_for_before_a_seek_is_not_taken() -> None:
    position = Position()
    position.seek(10)
    position.seek(100)
    assert not position.arrived(10, fetched(10, 5))
    assert (position.fetch_offset, len(position.fetched)) == (100, 0)


def test_a_reset_waits_for_its_offset() -> None:
    positions = Positions()
    positions.assign([ONE, TWO])
    assert positions.lost() == [ONE, TWO]
    positions[ONE].ask_reset(-2)
    assert (positions.lost(), positions.to_reset()) == ([TWO], {ONE: -2})
    positions[ONE].seek(4)
    assert positions.to_reset() == {}


def test_partitions_that_stay_keep_their_positions() -> None:
    positions = Positions()
    positions.assign([ONE])
    positions[ONE].seek(4)
    positions.assign([ONE, TWO])
    assert (positions[ONE].offset, positions[TWO].offset) == (4, None)
    positions.assign([TWO])
    with pytest.raises(OttlaError, match="t-1 is not assigned"):
        positions[ONE]


def test_records_that_were_returned_but_not_seen_do_not_count_as_consumed() -> None:
    positions = Positions()
    positions.assign([ONE, TWO])
    positions[ONE].seek(9)
    unread = [ConsumerRecord("t", 1, offset, 0, 0, None, None, (), -1) for offset in (8, 7)]
    assert positions.consumed(unread) == {ONE: OffsetAndMetadata(7)}


def test_nothing_is_fetched_for_a_paused_partition() -> None:
    position = Position()
    position.seek(0)
    position.paused = True
    assert not position.wants_more()
