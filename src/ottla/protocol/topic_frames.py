"""Pure: how a topic begins in the replies that are written by hand, and how they name brokers (KIP-951)."""

from __future__ import annotations

from collections.abc import Sequence
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


def write_endpoints(out: bytearray, endpoints: Sequence[tuple[int, str, int, str | None]]) -> None:
    """Append the tagged fields of a reply: where brokers, each (id, host, port, rack), are reached."""
    if not endpoints:
        out.append(0)
        return
    body = bytearray()
    write_unsigned_varint(body, len(endpoints) + 1)
    for node_id, host, port, rack in endpoints:
        body += _INT32.pack(node_id)
        _write_compact(body, host)
        body += _INT32.pack(port)
        _write_compact(body, rack)
        body.append(0)
    out += b"\x01\x00"  # one tagged field, the first
    write_unsigned_varint(out, len(body))
    out += body


def _write_compact(out: bytearray, text: str | None) -> None:
    if text is None:
        out.append(0)
        return
    data = text.encode()
    write_unsigned_varint(out, len(data) + 1)
    out += data
