"""Pure: unsigned varints, compact lengths and tagged fields, as the hand-written frames need them (KIP-482)."""

from __future__ import annotations

from ottla.base.errors import ProtocolError


def read_unsigned_varint(buf: memoryview, pos: int) -> tuple[int, int]:
    """The value at `pos` and the position behind it."""
    byte = buf[pos]
    if byte < 0x80:
        return byte, pos + 1
    value, shift = byte & 0x7F, 7
    while True:
        pos += 1
        byte = buf[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos + 1
        shift += 7
        if shift > 28:
            raise ProtocolError("a varint is longer than five bytes")


def read_compact_length(buf: memoryview, pos: int) -> tuple[int, int]:
    """A compact length or count, -1 for null; never more than the bytes that are left."""
    value, pos = read_unsigned_varint(buf, pos)
    if value - 1 > len(buf) - pos:
        raise ProtocolError(f"a length of {value - 1} does not fit the {len(buf) - pos} bytes left")
    return value - 1, pos


def skip_tagged_fields(buf: memoryview, pos: int) -> int:
    """Step over tagged fields that mean nothing here; unknown ones are legal."""
    count = buf[pos]
    if count == 0:
        return pos + 1
    count, pos = read_unsigned_varint(buf, pos)
    for _ in range(count):
        _, pos = read_unsigned_varint(buf, pos)
        size, pos = read_unsigned_varint(buf, pos)
        pos += size
        if pos > len(buf):
            raise ProtocolError(f"a tagged field of {size} bytes does not fit the frame")
    return pos


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append `value` to `out`."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
