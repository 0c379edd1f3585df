"""The child of `filter_process`: reads a filter, then batches of records; answers a byte for each record."""

from __future__ import annotations

import sys
from typing import BinaryIO, NamedTuple

import msgspec

from ottla.http.rest.own.filter_process import LENGTH, framed
from ottla.inspection.filters import compiled


class FilterRecord(NamedTuple):
    """What a filter looks at."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Serve until the pipe ends."""
    text, key = msgspec.msgpack.decode(_frame(source), type=tuple[str, bytes | None])
    test = compiled(text)
    decoder = msgspec.msgpack.Decoder(list[FilterRecord])
    while batch := _frame(source):
        flags = bytes(
            (key is None or record.key == key) and test(record) for record in decoder.decode(batch)
        )
        sink.write(framed(flags))
        sink.flush()


def _frame(source: BinaryIO) -> bytes:
    head = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
