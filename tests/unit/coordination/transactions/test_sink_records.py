"""Records about sinks: what is written is read again, and what is damaged is refused and not guessed at."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.coordination.decision import KeyValue
from ottla.coordination.transactions.records import encode_key
from ottla.coordination.transactions.sink_records import (
    FreeProducerRecord,
    Kind,
    SinkRecord,
    SlotRecord,
    decode,
    free_producer_record,
    kind_of,
    sink_record,
    slot_record,
)
from ottla.coordination.transactions.sinks import Sink, Slot
from ottla.coordination.transactions.state import Producer

NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
INT16, INT32, INT64 = (st.integers(-(2**bits), 2**bits - 1) for bits in (15, 31, 63))
SINKS = st.builds(
    Sink,
    run_id=NAMES,
    generation=INT32,
    timeout_ms=INT32,
    ephemeral=st.booleans(),
    updated_ms=INT64,
    retired_runs=st.lists(NAMES, max_size=5).map(tuple),
    committed_batch=INT64,
    committed_digest=NAMES,
    committed_group=st.binary(max_size=32),
)


def read(written: KeyValue) -> object:
    kind = kind_of(written[0])
    assert kind is not None
    return decode(kind, *written)


@given(NAMES, st.none() | SINKS)
def test_a_sink_comes_back_the_same(name: str, sink: Sink | None) -> None:
    assert read(sink_record(name, sink)) == SinkRecord(name, sink)


@given(NAMES, NAMES, INT32, INT64, INT32, INT64, st.dictionaries(NAMES, st.uuids(), max_size=3))
def test_a_slot_comes_back_the_same(
    name: str,
    sink: str,
    generation: int,
    batch: int,
    partition: int,
    attempt: int,
    topics: dict[str, UUID],
) -> None:
    slot = Slot(sink, generation, batch, partition, attempt)
    assert read(slot_record(name, sink, slot, topics)) == SlotRecord(name, sink, slot, topics)
    assert read(slot_record(name, sink, None)) == SlotRecord(name, sink, None)


@given(NAMES, INT64, INT16)
def test_a_free_producer_comes_back_the_same(sink: str, producer_id: int, epoch: int) -> None:
    producer = Producer(producer_id, epoch)
    kept = free_producer_record(sink, producer, is_free=True)
    assert read(kept) == FreeProducerRecord(sink, producer_id, epoch)
    taken = free_producer_record(sink, producer, is_free=False)
    assert (read(taken), taken[0]) == (FreeProducerRecord(sink, producer_id, None), kept[0])


def test_keys_of_kafka_are_none_of_these() -> None:
    assert kind_of(encode_key("payments")) is None
    assert kind_of(b"") is None
    assert [int(kind) for kind in Kind] == [100, 101, 102]


@given(SINKS, st.data())
def test_what_is_cut_short_or_newer_is_refused(sink: Sink, data: st.DataObject) -> None:
    key, value = sink_record("clicks", sink)
    assert value is not None
    end = data.draw(st.integers(0, len(value) - 1))
    for damaged in (value[:end], b"\0\1" + value[2:]):
        with pytest.raises(ProtocolError):
            decode(Kind.SINK, key, damaged)
    with pytest.raises(ProtocolError):
        decode(Kind.SINK, key[: data.draw(st.integers(2, len(key) - 1))], value)
