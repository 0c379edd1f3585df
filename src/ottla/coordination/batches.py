"""Pure: the batch that a coordinator appends: keys and values of one moment, without headers, never compressed.

Written by hand because every commit pays for it: 1.3 us for one record, where the general builder takes 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ottla.coordination.decision import KeyValue, Transactional
from ottla.protocol.records.batch import (
    ATTRIBUTES_POS,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_batch,
    patch_moment,
)
from ottla.storage.validate import ValidatedBatch

_NO_EPOCH = -1
# Attributes, and no time since the batch began.
_HEAD = b"\0\0"
_NO_HEADERS = b"\0"


def encode(
    records: Sequence[KeyValue], transactional: Transactional | None, now_ms: int
) -> tuple[BatchHeader, bytearray]:
    """The batch and its header, whose CRC is left out."""
    if len(records) == 1 and transactional is None:
        return _encode_one(*records[0], now_ms)
    parts: list[bytes] = []
    number = 0
    for key, value in records:
        delta = _varint(number)
        head, key_size, value_size = _sizes(
            len(delta), len(key), -1 if value is None else len(value)
        )
        parts += (head, delta, key_size, key, value_size, value or b"", _NO_HEADERS)
        number += 1
    section = b"".join(parts)
    if transactional is None:
        header = _header(len(section), number, now_ms)
    else:
        header = _header(len(section), number, now_ms, *transactional, TRANSACTIONAL_FLAG)
    return header, pack_batch(header, section)


def _header(
    section_bytes: int,
    count: int,
    now_ms: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = _NO_EPOCH,
    attributes: int = 0,
) -> BatchHeader:
    length = HEADER_SIZE + section_bytes - LOG_OVERHEAD
    header: BatchHeader = tuple.__new__(
        BatchHeader,
        (
            0, length, _NO_EPOCH, CURRENT_MAGIC, 0, attributes, count - 1, now_ms, now_ms,
            producer_id, producer_epoch, NO_SEQUENCE, count,
        ),
    )  # fmt: skip
    return header


def _encode_one(key: bytes, value: bytes | None, now_ms: int) -> tuple[BatchHeader, bytearray]:
    """The same for a single record outside a transaction: but for the moment, sizes say all that is around it."""
    value_bytes = -1 if value is None else len(value)
    section_bytes, head, value_size = _around_one(len(key), value_bytes)
    batch = bytearray(b"".join((head, key, value_size, value or b"", _NO_HEADERS)))
    patch_moment(batch, memoryview(batch)[ATTRIBUTES_POS:], now_ms)
    return _header_of_one(section_bytes, now_ms), batch


# Of many commits in one millisecond, most are as long as the one before.
@lru_cache(maxsize=64)
def _header_of_one(section_bytes: int, now_ms: int) -> BatchHeader:
    return _header(section_bytes, 1, now_ms)


class RepeatedRecord:
    """A record that is appended over and over, alone or with others; its owner changes the value in place before."""

    __slots__ = ("_checked", "_delta_pos", "_record", "_view", "batch", "value_pos")

    def __init__(self, key: bytes, value: bytes) -> None:
        _, self.batch = _encode_one(key, value, 0)
        self.value_pos = len(self.batch) - len(_NO_HEADERS) - len(value)
        self._view = memoryview(self.batch)
        self._checked = self._view[ATTRIBUTES_POS:]
        self._record = self._view[HEADER_SIZE:]
        before_delta, _, _ = _sizes(len(_varint(0)), len(key), len(value))
        self._delta_pos = len(before_delta)

    def alone(self, now_ms: int) -> ValidatedBatch:
        """The batch of this record, as it is made at that moment."""
        record = self._record
        record[self._delta_pos] = 0
        patch_moment(self.batch, self._checked, now_ms)
        header = _header_of_one(len(record), now_ms)
        return tuple.__new__(ValidatedBatch, (header, self._view, NO_TIMESTAMP))

    def at(self, place: int) -> memoryview:
        """The record in the batch of others, of which some are before it."""
        self._record[self._delta_pos] = place << 1
        return self._record


MOST_TOGETHER: Final = 64
"""Repeated records that a batch may hold: the place of each is one byte of it."""


def encode_together(records: Sequence[RepeatedRecord], now_ms: int) -> ValidatedBatch:
    """The batch of all of these, as it is made at this moment."""
    if len(records) == 1:
        return records[0].alone(now_ms)
    section = b"".join([record.at(place) for place, record in enumerate(records)])
    header = _header(len(section), len(records), now_ms)
    return tuple.__new__(
        ValidatedBatch, (header, memoryview(pack_batch(header, section)), NO_TIMESTAMP)
    )


@lru_cache(maxsize=4096)
def _around_one(key_bytes: int, value_bytes: int) -> tuple[int, bytes, bytes]:
    """How long a single record is, and what is before its key, the header of its batch included, and its value."""
    delta = _varint(0)
    head, key_size, value_size = _sizes(len(delta), key_bytes, value_bytes)
    before_key = head + delta + key_size
    behind = key_bytes + len(value_size) + max(value_bytes, 0) + len(_NO_HEADERS)
    section_bytes = len(before_key) + behind
    empty = pack_batch(_header(section_bytes, 1, 0), before_key + bytes(behind))
    return section_bytes, bytes(empty[:-behind]), value_size


@lru_cache(maxsize=4096)
def _sizes(delta_bytes: int, key_bytes: int, value_bytes: int) -> tuple[bytes, bytes, bytes]:
    """The beginning of a record, and what is before its key and its value: the lengths of those are few."""
    key_size, value_size = _varint(key_bytes), _varint(value_bytes)
    size = len(_HEAD) + delta_bytes + len(key_size) + key_bytes
    size += len(value_size) + max(value_bytes, 0) + len(_NO_HEADERS)
    return _varint(size) + _HEAD, key_size, value_size


@lru_cache(maxsize=65_536)
def _varint(number: int) -> bytes:
    """A zigzag varint; most are the numbers of records in a batch."""
    rest = number << 1 if number >= 0 else ~(number << 1)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
