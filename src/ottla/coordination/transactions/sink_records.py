"""Pure: the records about sinks in `__transaction_state`, under key versions that Kafka does not use.

Of every key the newest record is all there is to know, so that compaction may take the others at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from ottla.base.errors import ProtocolError
from ottla.coordination.decision import KeyValue
from ottla.coordination.transactions.sinks import Sink, Slot
from ottla.coordination.transactions.state import Producer
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct, array, blob, boolean, int16, int32, int64, string, uuid

_VERSION: Final = 0
_VERSION_BYTES: Final = 2

T = TypeVar("T", bound=Struct)


class Kind(IntEnum):
    """The version of a key, which says what its record is about."""

    SINK = 100
    SLOT = 101
    FREE_PRODUCER = 102


_KINDS: Final = {int(kind): kind for kind in Kind}


class SinkKey(Struct):
    """Which sink."""

    sink_id: str = string()


class SinkValue(Struct):
    """The sink: who may write to it, and what was committed last."""

    run_id: str = string()
    generation: int = int32()
    timeout_ms: int = int32()
    ephemeral: bool = boolean()
    updated_ms: int = int64()
    retired_runs: list[str] = array(string)
    committed_batch: int = int64(-1)
    committed_digest: str = string()
    committed_group: bytes = blob()


class SlotKey(Struct):
    """Which slot; what its transaction does is told under Kafka's own key."""

    sink_id: str = string()
    transactional_id: str = string()


class SlotTopic(Struct):
    """An element of SlotValue.topics."""

    name: str = string()
    topic_id: UUID = uuid()


class SlotValue(Struct):
    """Whose slot it is, and once its outcome is decided, which topics it concerns."""

    generation: int = int32()
    batch: int = int64()
    partition: int = int32()
    attempt: int = int64()
    topics: list[SlotTopic] = array(SlotTopic)


class FreeProducerKey(Struct):
    """A producer id that a sink may give to its next slot."""

    sink_id: str = string()
    producer_id: int = int64()


class FreeProducerValue(Struct):
    """The epoch with which it may."""

    epoch: int = int16()


class SinkRecord(NamedTuple):
    """A sink; None when it is forgotten."""

    sink_id: str
    sink: Sink | None


class SlotRecord(NamedTuple):
    """A slot; None when it has ended."""

    transactional_id: str
    sink_id: str
    slot: Slot | None
    topic_ids: Mapping[str, UUID] = MappingProxyType({})


class FreeProducerRecord(NamedTuple):
    """A producer that waits for a slot; None when it has one again."""

    sink_id: str
    producer_id: int
    epoch: int | None


def kind_of(key: bytes) -> Kind | None:
    """What a record is about, if it is one of these."""
    return _KINDS.get(int.from_bytes(key[:_VERSION_BYTES], signed=True))


def sink_record(sink_id: str, sink: Sink | None) -> KeyValue:
    """Remember a sink, or forget it."""
    key = _encode(Kind.SINK, SinkKey(sink_id=sink_id))
    if sink is None:
        return key, None
    fields = sink._asdict() | {"retired_runs": list(sink.retired_runs)}
    return key, _encode(_VERSION, SinkValue(**fields))


def slot_record(
    transactional_id: str,
    sink_id: str,
    slot: Slot | None,
    topic_ids: Mapping[str, UUID] = MappingProxyType({}),
) -> KeyValue:
    """Remember a slot, or forget it."""
    key = _encode(Kind.SLOT, SlotKey(sink_id=sink_id, transactional_id=transactional_id))
    if slot is None:
        return key, None
    value = SlotValue(
        generation=slot.generation,
        batch=slot.batch,
        partition=slot.partition,
        attempt=slot.attempt,
        topics=[SlotTopic(name=name, topic_id=each) for name, each in sorted(topic_ids.items())],
    )
    return key, _encode(_VERSION, value)


def free_producer_record(sink_id: str, producer: Producer, *, is_free: bool) -> KeyValue:
    """Keep a producer for the sink's next slot, or give it to one."""
    which = FreeProducerKey(sink_id=sink_id, producer_id=producer.producer_id)
    key = _encode(Kind.FREE_PRODUCER, which)
    return key, _encode(_VERSION, FreeProducerValue(epoch=producer.epoch)) if is_free else None


def decode(
    kind: Kind, key: bytes, value: bytes | None
) -> SinkRecord | SlotRecord | FreeProducerRecord:
    """What a record says; ProtocolError if it cannot be read."""
    if kind is Kind.SINK:
        return SinkRecord(_decode(SinkKey, key).sink_id, _sink(value))
    if kind is Kind.SLOT:
        which = _decode(SlotKey, key)
        if value is None:
            return SlotRecord(which.transactional_id, which.sink_id, None)
        return _slot(which, _decode_value(SlotValue, value))
    free = _decode(FreeProducerKey, key)
    epoch = None if value is None else _decode_value(FreeProducerValue, value).epoch
    return FreeProducerRecord(free.sink_id, free.producer_id, epoch)


def _sink(value: bytes | None) -> Sink | None:
    if value is None:
        return None
    read = _decode_value(SinkValue, value)
    return Sink(
        run_id=read.run_id,
        generation=read.generation,
        timeout_ms=read.timeout_ms,
        ephemeral=read.ephemeral,
        updated_ms=read.updated_ms,
        retired_runs=tuple(read.retired_runs),
        committed_batch=read.committed_batch,
        committed_digest=read.committed_digest,
        committed_group=read.committed_group,
    )


def _slot(which: SlotKey, read: SlotValue) -> SlotRecord:
    slot = Slot(which.sink_id, read.generation, read.batch, read.partition, read.attempt)
    topic_ids = {topic.name: topic.topic_id for topic in read.topics}
    return SlotRecord(which.transactional_id, which.sink_id, slot, topic_ids)


def _encode(version: int, message: Struct) -> bytes:
    out = bytearray(version.to_bytes(_VERSION_BYTES))
    encoder(type(message), _VERSION, True)(message, out)
    return bytes(out)


def _decode(struct: type[T], data: bytes) -> T:
    read: T = decoder(struct, _VERSION, True)(data, _VERSION_BYTES, len(data))
    return read


def _decode_value(struct: type[T], data: bytes) -> T:
    if len(data) < _VERSION_BYTES or int.from_bytes(data[:_VERSION_BYTES], signed=True) != _VERSION:
        raise ProtocolError(f"a {struct.__name__} of a version that is not known")
    return _decode(struct, data)
