"""Pure: what a processor of the user's own sees: records, state and timers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

Headers = tuple[tuple[str, bytes | None], ...]

Clock = Literal["event-time", "wall-clock"]
"""Event time is the highest timestamp that the operator has seen; wall-clock is the machine's."""


@dataclass(frozen=True)
class Record:
    """One record; `dataclasses.replace(record, value=...)` makes another like it."""

    key: Any
    value: Any
    timestamp_ms: int
    headers: Headers = ()

    def header(self, name: str) -> bytes | None:
        """The value of the last header of this name, None if there is none."""
        return next((value for each, value in reversed(self.headers) if each == name), None)


@dataclass(frozen=True)
class Timer:
    """A timer that is due: the key that was current when it was set, its name and its time."""

    key: Any
    name: str
    at_ms: int
    clock: Clock


class KeyValueStore(Protocol):
    """State of the processor. The key must be that of the current record or timer: state lives with its key.

    Values go through the store's serde: changing one that was read changes nothing before it is put back.
    """

    def get(self, key: Any) -> Any:
        """Return the value of the key, None if there is none."""

    def put(self, key: Any, value: Any) -> None:
        """Set the value of the key; None deletes it."""

    def delete(self, key: Any) -> Any:
        """Delete the key; return the value it had."""


class ProcessorContext(Protocol):
    """What a processor may do besides computing."""

    def forward(self, record: Record) -> None:
        """Hand a record on to all operators behind this one."""

    def store(self, name: str) -> KeyValueStore:
        """Return a store by the name that `process(..., stores=[...])` gave."""

    def set_timer(self, at_ms: int, name: str = "", clock: Clock = "event-time") -> None:
        """Have on_timer called for the current key once the clock has reached a time.

        A timer of the same key, name and clock that was set before is replaced.
        """

    def cancel_timer(self, name: str = "", clock: Clock = "event-time") -> None:
        """Forget a timer of the current key."""

    @property
    def now_ms(self) -> int:
        """The wall clock."""

    @property
    def stream_time_ms(self) -> int:
        """The highest timestamp seen so far, -1 if there is none."""

    @property
    def topic(self) -> str | None:
        """Where the current record was read, None in timers."""

    @property
    def partition(self) -> int | None:
        """The partition of the current record."""

    @property
    def offset(self) -> int | None:
        """The offset of the current record."""


class Processor:
    """Base of one's own processors: `process` is called for each record, `on_timer` for each timer that is due.

    Objects live as long as their worker: what must survive belongs into a store.
    """

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> None:
        """Called before the first record."""
        self.context = context

    def process(self, record: Record) -> None:
        """Handle one record."""
        raise NotImplementedError(f"{type(self).__name__} has no method process(record)")

    def on_timer(self, timer: Timer) -> None:
        """Handle a timer."""

    def close(self) -> None:
        """Called when the application stops; after a crash it is not."""
