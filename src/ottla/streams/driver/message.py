"""Pure: what passes between the operators of the test driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ottla.streams.processors import Headers


@dataclass(frozen=True)
class Origin:
    """The record of a topic that is being handled: its place, and its bytes."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True)
class Message:
    """A record, or a change of a table: then `old` is the value before, where somebody wants to know it."""

    key: Any
    value: Any
    timestamp_ms: int
    headers: Headers = ()
    old: Any = None
