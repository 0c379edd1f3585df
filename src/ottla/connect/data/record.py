"""Pure: one record on its way through a connector."""

from __future__ import annotations

from typing import Any, NamedTuple

from ottla.connect.data.schema import Schema


class Header(NamedTuple):
    """One header of a record."""

    key: str
    schema: Schema | None
    value: Any


class Record(NamedTuple):
    """A record with its schemas; a schema of None means that the value has none.

    `origin` is the offset of a record that comes from a topic; -1 for one that goes there.
    """

    topic: str
    partition: int | None
    key_schema: Schema | None
    key: Any
    value_schema: Schema | None
    value: Any
    timestamp_ms: int | None = None
    headers: tuple[Header, ...] = ()
    origin: int = -1
