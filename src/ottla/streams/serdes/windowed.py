"""Pure: keys of windowed tables, byte for byte as Kafka Streams writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ottla.streams.serdes.scalars import SerdeError
from ottla.streams.serdes.serde import Serde
from ottla.streams.types import LONG, Struct, Type
from ottla.streams.windows import Windowed

_TIME_BYTES = 8


@dataclass(frozen=True)
class TimeWindowedSerde:
    """The key's bytes, then the start of its window in 8 bytes; the size is not written."""

    inner: Serde
    size_ms: int
    type: Type = field(init=False)
    name: ClassVar[str] = "time-windowed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", windowed_type(self.inner.type))

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, Windowed):
            raise SerdeError(f"takes the key of a windowed table, not {type(value).__name__}")
        return self.inner.serialize(value.key) + value.start_ms.to_bytes(
            _TIME_BYTES, "big", signed=True
        )

    def deserialize(self, data: bytes) -> object:
        if len(data) < _TIME_BYTES:
            raise SerdeError(f"a windowed key has at least 8 bytes, but there are {len(data)}")
        start = int.from_bytes(data[-_TIME_BYTES:], "big", signed=True)
        return Windowed(self.inner.deserialize(data[:-_TIME_BYTES]), start, start + self.size_ms)


@dataclass(frozen=True)
class SessionWindowedSerde:
    """The key's bytes, then the session's end and its start, 8 bytes each."""

    inner: Serde
    type: Type = field(init=False)
    name: ClassVar[str] = "session-windowed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", windowed_type(self.inner.type))

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, Windowed):
            raise SerdeError(f"takes the key of a windowed table, not {type(value).__name__}")
        end, start = (
            time.to_bytes(_TIME_BYTES, "big", signed=True)
            for time in (value.end_ms, value.start_ms)
        )
        return self.inner.serialize(value.key) + end + start

    def deserialize(self, data: bytes) -> object:
        if len(data) < 2 * _TIME_BYTES:
            raise SerdeError(f"a session's key has at least 16 bytes, but there are {len(data)}")
        end = int.from_bytes(data[-2 * _TIME_BYTES : -_TIME_BYTES], "big", signed=True)
        start = int.from_bytes(data[-_TIME_BYTES:], "big", signed=True)
        return Windowed(self.inner.deserialize(data[: -2 * _TIME_BYTES]), start, end)


def windowed_type(key: Type) -> Type:
    """The type of a windowed table's key."""
    return Struct("Windowed", (("key", key), ("start_ms", LONG), ("end_ms", LONG)))
