"""Pure: how a topic begins in the replies that are written by hand."""

from __future__ import annotations

from struct import Struct

from ottla.protocol.varint import write_unsigned_varint

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def write_topic(out: bytearray, topic: str | bytes, count: int, flexible: bool) -> None:
    """Append a topic, by its name or the 16 bytes of its id, and the number of its partitions."""
    if isinstance(topic, bytes):
        out += topic
        write_unsigned_varint(out, count + 1)
        return
    name = topic.encode()
    if flexible:
        write_unsigned_varint(out, len(name) + 1)
        out += name
        write_unsigned_varint(out, count + 1)
    else:
        out += _INT16.pack(len(name)) + name + _INT32.pack(count)
