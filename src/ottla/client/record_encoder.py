"""Pure: one record after the other into the record section of a batch, as quickly as Python can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ottla.protocol.records.batch import HEADER_SIZE

Bytes: TypeAlias = bytes | bytearray | memoryview
Headers: TypeAlias = Sequence[tuple[str, Bytes | None]]
GivenHeaders: TypeAlias = (
    Mapping[str, Bytes | str | None] | Sequence[tuple[str, Bytes | str | None]]
)
"""Headers as programs give them."""
_HEADERS_WANTED = 'pairs of a name and bytes are needed, [("name", b"value")], or a mapping'

MAX_RECORD_OVERHEAD = 21
"""Bytes that length, attributes, deltas and sizes of a record take at most, headers aside."""


def varint(value: int) -> bytes:
    """A zigzag varint."""
    unsigned = value << 1 if value >= 0 else ~(value << 1)
    out = bytearray()
    while unsigned > 0x7F:
        out.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    out.append(unsigned)
    return bytes(out)


# Nearly every length and delta is found here: a lookup takes a tenth of the time of the loop above.
_SMALL = tuple(
    [bytes((n << 1,)) for n in range(64)]
    + [bytes(((n << 1) & 0x7F | 0x80, n >> 6)) for n in range(64, 8192)]
)
_SMALL_COUNT = len(_SMALL)
_NULL = b"\x01"


class RecordEncoder:
    """The records of one batch; `size_bytes` counts the header of the batch, too."""

    __slots__ = ("_parts", "base_timestamp", "count", "limit_bytes", "max_timestamp", "size_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._parts: list[bytes] = []
        self.limit_bytes = limit_bytes
        self.count = 0
        self.size_bytes = HEADER_SIZE
        self.base_timestamp = -1
        self.max_timestamp = -1

    def append(
        self, key: Bytes | None, value: Bytes | None, headers: Headers, timestamp_ms: int
    ) -> bool:
        """Add a record, unless the batch has one already and no room for this; says whether it did."""
        count = self.count
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        if count == 0:
            self.base_timestamp = self.max_timestamp = timestamp_ms
        elif self.size_bytes + key_size + value_size + MAX_RECORD_OVERHEAD > self.limit_bytes or (
            headers and self.size_bytes + _size_of(headers) > self.limit_bytes
        ):
            return False
        elif timestamp_ms > self.max_timestamp:
            self.max_timestamp = timestamp_ms
        delta = timestamp_ms - self.base_timestamp
        body = b"".join(
            (
                b"\0",
                _SMALL[delta] if 0 <= delta < _SMALL_COUNT else varint(delta),
                _SMALL[count] if count < _SMALL_COUNT else varint(count),
                _NULL if key_size < 0 else _SMALL[key_size] if key_size < _SMALL_COUNT else varint(key_size),
                key or b"",
                _NULL if value_size < 0 else _SMALL[value_size] if value_size < _SMALL_COUNT else varint(value_size),
                value or b"",
                _encoded(headers) if headers else b"\0",
            )
        )  # fmt: skip
        size = len(body)
        length = _SMALL[size] if size < _SMALL_COUNT else varint(size)
        self._parts += (length, body)
        self.count = count + 1
        self.size_bytes += size + len(length)
        return True

    def section(self) -> bytes:
        """The record section, not compressed."""
        return b"".join(self._parts)


def record_size(key: Bytes | None, value: Bytes | None, headers: Headers) -> int:
    """At most so many bytes does a record take by itself, in a batch of its own."""
    sizes = (len(key) if key else 0) + (len(value) if value else 0)
    return HEADER_SIZE + MAX_RECORD_OVERHEAD + sizes + (_size_of(headers) if headers else 0)


def as_headers(given: object) -> Headers:
    """Headers as pairs of text and bytes, from pairs or from a mapping; text becomes UTF-8."""
    pairs = given.items() if isinstance(given, Mapping) else given
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(f"headers are of type {type(given).__name__}, and {_HEADERS_WANTED}")
    return [_as_header(pair) for pair in pairs]


def _as_header(pair: object) -> tuple[str, Bytes | None]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"a header is {pair!r}, and {_HEADERS_WANTED}")
    name, value = pair
    if not isinstance(name, str):
        raise TypeError(
            f"the name of a header is of type {type(name).__name__}, and text is needed"
        )
    if isinstance(value, str):
        value = value.encode()
    if value is not None and not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(
            f"the value of header {name} is of type {type(value).__name__}, and bytes or text are needed"
        )
    return name, value


def _size_of(headers: Headers) -> int:
    return sum(4 * len(name) + (len(value) if value else 0) + 10 for name, value in headers)


def _encoded(headers: Headers) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (varint(len(value)), bytes(value))
    return b"".join(parts)
