"""Pure: builds record batches, for coordinators, the client and tests."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.protocol.records.batch import (
    CONTROL_FLAG,
    CURRENT_MAGIC,
    LOG_APPEND_TIME_FLAG,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_batch,
)
from ottla.protocol.records.compression import Codec, compress
from ottla.protocol.records.record import Record


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    codec: int = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """One batch of these records, numbered from `base_offset` on in the order they come."""
    records = list(records)
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if log_append_time_ms is not None:
        max_timestamp = log_append_time_ms
    attributes = (
        codec
        | (LOG_APPEND_TIME_FLAG if log_append_time_ms is not None else 0)
        | (TRANSACTIONAL_FLAG if transactional else 0)
        | (CONTROL_FLAG if control else 0)
    )
    header = BatchHeader(
        base_offset=base_offset,
        length=0,
        leader_epoch=leader_epoch,
        magic=CURRENT_MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=len(records),
    )
    section = encode_records(records, base_timestamp)
    return pack_batch(header, section if codec == Codec.NONE else compress(codec, section, level))


def encode_records(records: Iterable[Record], base_timestamp: int) -> bytearray:
    """The record section of a batch, not compressed; offsets follow from the order."""
    section = bytearray()
    for offset_delta, record in enumerate(records):
        body = bytearray(1)
        _write_varint(body, record.timestamp - base_timestamp)
        _write_varint(body, offset_delta)
        _write_bytes(body, record.key)
        _write_bytes(body, record.value)
        _write_varint(body, len(record.headers))
        for name, value in record.headers:
            _write_bytes(body, name.encode())
            _write_bytes(body, value)
        _write_varint(section, len(body))
        section += body
    return section


def _write_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        _write_varint(out, -1)
    else:
        _write_varint(out, len(data))
        out += data


def _write_varint(out: bytearray, value: int) -> None:
    unsigned = value << 1 if value >= 0 else ~(value << 1)
    while unsigned > 0x7F:
        out.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    out.append(unsigned)
