"""Pure: the keys of the dirty part of a log, and what they leave of each record.

Records are numbered from 1 in the order in which they are noted. The map says which number had a
key last; a byte for each number says what became of that record, so that the second pass over the
dirty part looks at no key again. Compaction spends most of its time in `scan_keys`, about 0.5 us a
record, so that the usual varints of one and two bytes are decoded in line.
"""

import sys
from hashlib import blake2b
from typing import NamedTuple

from ottla.base.errors import ProtocolError

ALIVE, DEAD, TOMBSTONE = 0, 1, 2

_MAX_KEY_SIZE = 32
# Sizes that no key in the map has otherwise, so that neither can be taken for a key.
_DIGEST_SIZE = _MAX_KEY_SIZE + 1
_NULL_KEY = bytes(_MAX_KEY_SIZE + 2)
# A bytes object around the key, rounded up to what the allocator gives out, and an int.
_ENTRY_BYTES = sys.getsizeof(b"") + 8 + 32


class ScannedKeys(NamedTuple):
    """The keys of a batch in order, and which records have no value or no key."""

    keys: list[bytes]
    tombstones: list[int]
    nulls: list[int]


class DirtyKeys:
    """Which record is the last of each key."""

    __slots__ = ("_key_bytes", "_numbers", "_states")

    def __init__(self) -> None:
        # A record without key is dead in either part of the log. No record has the number 0.
        self._numbers: dict[bytes, int] = {_NULL_KEY: 0}
        self._states = bytearray(1)
        self._key_bytes = 0

    def __len__(self) -> int:
        return len(self._numbers) - 1

    @property
    def next_number(self) -> int:
        """The number that the next record will have."""
        return len(self._states)

    @property
    def memory_bytes(self) -> int:
        """About what the map takes."""
        numbers, states = self._numbers, self._states
        objects = len(numbers) * _ENTRY_BYTES + self._key_bytes
        return sys.getsizeof(numbers) + objects + sys.getsizeof(states)

    def note(self, section: bytes, pos: int, count: int) -> None:
        """Take in the records of a dirty batch, which shadow the earlier ones of their keys."""
        keys, tombstones, nulls = scan_keys(section, pos, count)
        numbers, states = self._numbers, self._states
        known = len(numbers)
        first = number = len(states)
        states += bytes(count)
        get = numbers.get
        for key in keys:
            shadowed = get(key)
            if shadowed is not None:
                states[shadowed] = DEAD
            numbers[key] = number
            number += 1
        for index in tombstones:
            if states[first + index] == ALIVE:
                states[first + index] = TOMBSTONE
        for index in nulls:
            states[first + index] = DEAD
        if count:
            self._key_bytes += (len(numbers) - known) * sum(map(len, keys)) // count

    def states(self, first: int, count: int) -> bytes:
        """What became of noted records: of `count` from a number on."""
        return bytes(self._states[first : first + count])

    def judge(self, section: bytes, pos: int, count: int) -> bytes:
        """What becomes of the records of a batch in front of the dirty part."""
        keys, tombstones, _ = scan_keys(section, pos, count)
        states = bytearray(map(self._numbers.__contains__, keys))
        for index in tombstones:
            if states[index] == ALIVE:
                states[index] = TOMBSTONE
        return bytes(states)


def scan_keys(data: bytes, pos: int, count: int) -> ScannedKeys:
    """The keys of the records that begin at `pos` and fill the rest of the data."""
    keys: list[bytes] = []
    tombstones: list[int] = []
    nulls: list[int] = []
    add = keys.append
    try:
        for index in range(count):
            size = data[pos]
            pos += 1
            if size > 0x7F:
                more = data[pos]
                pos += 1
                if more < 0x80:
                    size = more << 7 | size & 0x7F
                else:
                    size, pos = long_varint(data, pos - 2)
                    size <<= 1
            end = pos + (size >> 1)
            pos += 1  # attributes
            while data[pos] > 0x7F:  # timestamp
                pos += 1
            pos += 1
            while data[pos] > 0x7F:  # offset
                pos += 1
            size = data[pos + 1]
            pos += 2
            if size < 0x41 and not size & 1:
                size >>= 1
                add(data[pos : pos + size])
            else:
                pos, size = _add_unusual_key(data, pos - 1, index, keys, nulls)
            if data[pos + size] == 1:
                tombstones.append(index)
            pos = end
    except IndexError:
        raise ProtocolError(f"a record at byte {pos} reaches behind its batch") from None
    if pos != len(data):
        raise ProtocolError(f"{count} records end at byte {pos}, their batch at {len(data)}")
    return ScannedKeys(keys, tombstones, nulls)


def _add_unusual_key(
    data: bytes, pos: int, index: int, keys: list[bytes], nulls: list[int]
) -> tuple[int, int]:
    """Add a null key, or a digest for a long one; returns where the key is and how long."""
    size, pos = long_varint(data, pos)
    if size < 0:
        nulls.append(index)
        keys.append(_NULL_KEY)
        return pos, 0
    key = data[pos : pos + size]
    short = size <= _MAX_KEY_SIZE
    keys.append(key if short else blake2b(key, digest_size=_DIGEST_SIZE).digest())
    return pos, size


def long_varint(data: bytes, pos: int) -> tuple[int, int]:
    """A zigzag varint of any length, and where it ends."""
    value = shift = 0
    while (byte := data[pos]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        pos += 1
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), pos + 1
