"""Pure: the records of `__transaction_state`, byte for byte as Kafka writes and reads them."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.coordination.decision import UnknownRecord
from ottla.coordination.transactions.state import State, Transaction, by_topic
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct, array, int8, int16, int32, int64, string
from ottla.protocol.varint import write_unsigned_varint

_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 1
_FIRST_FLEXIBLE: Final = 1
_VERSION_BYTES: Final = 2
# Version, producer id, epoch, time-out, state; the partitions follow.
_HEAD: Final = struct.Struct(">hqhib")
# When it was changed, when it began; tagged fields follow.
_TIMES: Final = struct.Struct(">qq")
_NO_PARTITIONS: Final = b"\0"
_UNTAGGED_BYTES: Final = _HEAD.size - _VERSION_BYTES + len(_NO_PARTITIONS) + _TIMES.size
_FEW: Final = 16


class TransactionLogKey(Struct):
    """Whose record it is."""

    transactional_id: str = string()


class TransactionPartitions(Struct):
    """An element of TransactionLogValue.partitions."""

    topic: str = string()
    partition_ids: list[int] = array(int32)


class TransactionLogValue(Struct):
    """What is known of a transactional id; v1 is flexible, and adds what KIP-890 and KIP-939 need."""

    producer_id: int = int64()
    previous_producer_id: int = int64(-1, since=1, tag=0)
    next_producer_id: int = int64(-1, since=1, tag=1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16(-1, since=1, tag=3)
    timeout_ms: int = int32()
    status: int = int8()
    partitions: list[TransactionPartitions] | None = array(TransactionPartitions, nullable=True)
    last_update_ms: int = int64()
    start_ms: int = int64()
    client_version: int = int16(since=1, tag=2)


@lru_cache(maxsize=1024)
def encode_key(transactional_id: str) -> bytes:
    """The key under which a transactional id is remembered."""
    out = bytearray(_KEY_VERSION.to_bytes(2))
    encoder(TransactionLogKey, _KEY_VERSION, False)(
        TransactionLogKey(transactional_id=transactional_id), out
    )
    return bytes(out)


def encode_value(transaction: Transaction) -> bytes:
    """What is remembered of it, in the version that brokers with transaction.version 1 and 2 write.

    By hand, since every transaction is written down three times: 1.8 us, where a table of fields takes 9.
    """
    (
        producer_id, epoch, timeout_ms, state, partitions, updated_ms, started_ms,
        previous_producer_id, next_producer_id, next_epoch, client_version,
    ) = transaction  # fmt: skip
    if state is State.EMPTY:
        written = _NO_PARTITIONS
    elif len(partitions) <= _FEW:
        written = _encode_few(partitions)
    else:
        written = _encode_partitions(partitions)
    return b"".join(
        (
            _HEAD.pack(_VALUE_VERSION, producer_id, epoch, timeout_ms, state),
            written,
            _TIMES.pack(updated_ms, started_ms),
            _encode_tagged(previous_producer_id, next_producer_id, next_epoch, client_version),
        )
    )


def _encode_partitions(partitions: frozenset[TopicPartition]) -> bytes:
    topics = by_topic(partitions)
    out = bytearray()
    write_unsigned_varint(out, len(topics) + 1)
    encode = encoder(TransactionPartitions, _VALUE_VERSION, True)
    for topic, numbers in topics.items():
        encode(TransactionPartitions(topic=topic, partition_ids=numbers), out)
    return bytes(out)


_encode_few = lru_cache(maxsize=1024)(_encode_partitions)
"""Most producers write to the same partitions again and again."""


@lru_cache(maxsize=1024)
def _encode_tagged(
    previous_producer_id: int, next_producer_id: int, next_epoch: int, client_version: int
) -> bytes:
    """The end of the value, which hardly ever changes: what is written only if there is something to say."""
    value = TransactionLogValue(
        previous_producer_id=previous_producer_id,
        next_producer_id=next_producer_id,
        next_producer_epoch=next_epoch,
        client_version=client_version,
    )
    out = bytearray()
    encoder(TransactionLogValue, _VALUE_VERSION, True)(value, out)
    return bytes(out[_UNTAGGED_BYTES:])


def decode_key(key: bytes) -> str:
    """The transactional id; UnknownRecord for a kind that only newer brokers write."""
    if len(key) < _VERSION_BYTES:
        raise ProtocolError(f"a key of {len(key)} bytes has no version")
    if (version := int.from_bytes(key[:_VERSION_BYTES], signed=True)) != _KEY_VERSION:
        raise UnknownRecord(f"kind {version} of a transaction's records")
    decoded: TransactionLogKey = decoder(TransactionLogKey, _KEY_VERSION, False)(key, 2, len(key))
    return decoded.transactional_id


def decode_value(data: bytes) -> Transaction:
    """What is remembered of a transactional id, by this broker or by Kafka's."""
    if len(data) < _VERSION_BYTES:
        raise ProtocolError(f"a transaction record of {len(data)} bytes has no version")
    version = int.from_bytes(data[:_VERSION_BYTES], signed=True)
    if not 0 <= version <= _VALUE_VERSION:
        raise ProtocolError(f"a transaction record of unknown version {version}")
    read = decoder(TransactionLogValue, version, version >= _FIRST_FLEXIBLE)
    value: TransactionLogValue = read(data, 2, len(data))
    return Transaction(
        producer_id=value.producer_id,
        epoch=value.producer_epoch,
        timeout_ms=value.timeout_ms,
        state=_state(value.status),
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in value.partitions or ()
            for number in topic.partition_ids
        ),
        updated_ms=value.last_update_ms,
        started_ms=value.start_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_epoch=value.next_producer_epoch,
        client_version=value.client_version,
    )


def _state(status: int) -> State:
    try:
        return State(status)
    except ValueError:
        raise ProtocolError(f"a transaction record with the unknown state {status}") from None
