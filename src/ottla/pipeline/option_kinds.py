"""Pure: the kinds of value that options of Spark's Kafka connector have."""

from __future__ import annotations

import re
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.base.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from ottla.config.kinds import Kind, Long
from ottla.pipeline.offsets import (
    EARLIEST_BOUND,
    LATEST_BOUND,
    Bound,
    parse_offsets,
    parse_partitions,
    parse_times,
)

_UNITS_MS: Final = {
    "us": 0.001,
    "ms": 1,
    "s": SECOND_MS,
    "m": MINUTE_MS,
    "min": MINUTE_MS,
    "h": HOUR_MS,
    "d": DAY_MS,
}


class Offsets(Kind[Bound]):
    """earliest, latest, or an offset for each partition."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> Bound:
        stripped = text.strip()
        if stripped.lower() == "earliest":
            return EARLIEST_BOUND
        if stripped.lower() == "latest":
            return LATEST_BOUND
        if not stripped.startswith("{"):
            raise ValueError(f"must be {self.allowed()}")
        return Bound(by_time=False, everywhere=None, each=parse_offsets(stripped))

    def allowed(self) -> str:
        return 'earliest, latest, or JSON of the form {"topic":{"0":23,"1":-1}}'


class Times(Kind[Bound]):
    """A time in ms for each partition."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> Bound:
        return Bound(by_time=True, everywhere=None, each=parse_times(text))

    def allowed(self) -> str:
        return 'JSON of the form {"topic":{"0":1700000000000}}'


class Time(Kind[Bound]):
    """One time in ms for all partitions."""

    __slots__ = ()
    code, word = 5, "long"

    def parse(self, text: str) -> Bound:
        return Bound(by_time=True, everywhere=Long(0).parse(text))

    def allowed(self) -> str:
        return Long(0).allowed()


class Assignment(Kind[tuple[TopicPartition, ...]]):
    """Partitions by number."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> tuple[TopicPartition, ...]:
        return parse_partitions(text)

    def allowed(self) -> str:
        return 'JSON of the form {"topic":[0,1]}'


class TopicNames(Kind[tuple[str, ...]]):
    """Names of topics with commas between."""

    __slots__ = ()
    code, word = 7, "list"

    def parse(self, text: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
        if not found:
            raise ValueError("names no topic")
        return found

    def allowed(self) -> str:
        return "names of topics, with commas between"


class Pattern(Kind[str]):
    """A regular expression that is to match whole names."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
        if not text.strip():
            raise ValueError("names no topic")
        return text

    def allowed(self) -> str:
        return "a regular expression"


class Duration(Kind[int]):
    """A number and a unit, as in 15m; without a unit, milliseconds."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> int:
        found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
        if found is None or (found[2] or "ms") not in _UNITS_MS:
            raise ValueError(f"must be {self.allowed()}")
        return int(int(found[1]) * _UNITS_MS[found[2] or "ms"])

    def text(self, value: int) -> str:
        return f"{value // MINUTE_MS}m" if value % MINUTE_MS == 0 else f"{value}ms"

    def allowed(self) -> str:
        return "a number and a unit (us, ms, s, m, h or d), such as 15m"
