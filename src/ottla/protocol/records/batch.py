"""Pure: the 61-byte header of a record batch, format 2, read and patched where it lies.

    base_offset  length  leader_epoch  magic  crc  attributes  last_offset_delta  base_timestamp
    0            8       12            16     17   21          23                 27
    max_timestamp  producer_id  producer_epoch  base_sequence  count  records...
    35             43           51              53             57     61

The CRC-32C covers everything from the attributes on: base offset and leader epoch may be patched
without touching it, timestamps may not.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from fastcrc.crc32 import iscsi as crc32c

from ottla.base.errors import ProtocolError

Buffer: TypeAlias = bytes | bytearray | memoryview

HEADER_SIZE = 61
LOG_OVERHEAD = 12
"""Bytes in front of what `length` counts: base offset and length."""

ATTRIBUTES_POS = 21
"""From here to the end of the batch the CRC covers everything."""

CURRENT_MAGIC = 2
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

_MIN_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_LENGTH_POS = 8
_CRC_POS = 17
_TIMESTAMPS_POS = 27
_MAX_TIMESTAMP_POS = 35
_PRODUCER_POS = 43
_LEADER_EPOCH_POS = 12
_SEQUENCE_MASK = 0x7FFF_FFFF

_HEADER = struct.Struct(">qiibIhiqqqhii")
_unpack_header = _HEADER.unpack_from
_OFFSET = struct.Struct(">q")
_LENGTH = _EPOCH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_MAX_TIMESTAMP = struct.Struct(">q")
_TIMESTAMPS = struct.Struct(">qq")
_PRODUCER = struct.Struct(">qhi")


class BatchHeader(NamedTuple):
    """What a batch says about itself, as it stands in its first 61 bytes."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody misses

    @property
    def size_bytes(self) -> int:
        """The whole batch, header included."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The last offset the batch takes, which compaction may have emptied."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; sequences wrap from 2^31-1 to 0."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & _SEQUENCE_MASK

    @property
    def codec(self) -> int:
        """The number of the compression codec."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        """Every record has the time of the append, which is `max_timestamp`."""
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        """The records count only once their transaction has committed."""
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        """The records are markers of the broker's own."""
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """`base_timestamp` is the time from which tombstones and markers may go (KIP-534)."""
        return self.attributes & DELETE_HORIZON_FLAG != 0


def parse_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header at `pos`, as it stands: nothing in it has been verified."""
    try:
        return tuple.__new__(BatchHeader, _unpack_header(buf, pos))
    except struct.error:
        raise ProtocolError(
            f"a batch header takes {HEADER_SIZE} bytes, but {len(buf) - pos} are left"
        ) from None


def iter_headers(
    buf: Buffer, pos: int = 0, end: int | None = None
) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch; a torn last one is left out."""
    end = len(buf) if end is None else end
    while end - pos >= HEADER_SIZE:
        header = parse_header(buf, pos)
        if header.length < _MIN_LENGTH or header.magic != CURRENT_MAGIC:
            raise ProtocolError(
                f"no batch at position {pos}: length {header.length}, magic {header.magic}"
            )
        if header.length + LOG_OVERHEAD > end - pos:
            return
        yield pos, header
        pos += header.length + LOG_OVERHEAD


def crc_of(buf: Buffer, pos: int, size: int) -> int:
    """The CRC-32C that the batch of `size` bytes at `pos` should carry."""
    crc: int = crc32c(memoryview(buf)[pos + ATTRIBUTES_POS : pos + size])
    return crc


def patch_offset_and_epoch(
    buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int
) -> None:
    """Give the batch its place in the log; the CRC covers neither field."""
    _OFFSET.pack_into(buf, pos, base_offset)
    _EPOCH.pack_into(buf, pos + _LEADER_EPOCH_POS, leader_epoch)


def patch_timestamps(
    buf: bytearray | memoryview, pos: int, size: int, max_timestamp: int, *, log_append_time: bool
) -> None:
    """Set timestamp type and greatest timestamp of a batch of `size` bytes, and its CRC anew."""
    (attributes,) = _ATTRIBUTES.unpack_from(buf, pos + ATTRIBUTES_POS)
    attributes &= ~LOG_APPEND_TIME_FLAG
    if log_append_time:
        attributes |= LOG_APPEND_TIME_FLAG
    _ATTRIBUTES.pack_into(buf, pos + ATTRIBUTES_POS, attributes)
    _MAX_TIMESTAMP.pack_into(buf, pos + _MAX_TIMESTAMP_POS, max_timestamp)
    _CRC.pack_into(buf, pos + _CRC_POS, crc_of(buf, pos, size))


def patch_moment(batch: bytearray, checked: memoryview, timestamp: int) -> None:
    """Say when all records of a batch were made, which have no timestamps of their own, and its CRC anew.

    `checked` is the part that the CRC covers: from the attributes to the end.
    """
    _TIMESTAMPS.pack_into(batch, _TIMESTAMPS_POS, timestamp, timestamp)
    _CRC.pack_into(batch, _CRC_POS, crc32c(checked))


def patch_producer(
    buf: bytearray | memoryview, pos: int, size: int, producer_id: int, epoch: int, sequence: int
) -> None:
    """Give a batch of `size` bytes its place in the order of a producer, and its CRC anew."""
    _PRODUCER.pack_into(buf, pos + _PRODUCER_POS, producer_id, epoch, sequence)
    _CRC.pack_into(buf, pos + _CRC_POS, crc_of(buf, pos, size))


def pack_batch(header: BatchHeader, records: Buffer) -> bytearray:
    """A whole batch around an encoded record section; length and CRC are computed anew."""
    batch = bytearray(_HEADER.pack(*header))
    batch += records
    _LENGTH.pack_into(batch, _LENGTH_POS, len(batch) - LOG_OVERHEAD)
    _CRC.pack_into(batch, _CRC_POS, crc32c(memoryview(batch)[ATTRIBUTES_POS:]))
    return batch
