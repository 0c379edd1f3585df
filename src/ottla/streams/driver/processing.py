"""The test driver's processors of the user's own: what they change and forward counts when they have returned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ottla.streams.driver.message import Message
from ottla.streams.driver.operator import Operator
from ottla.streams.driver.state import Entry, State
from ottla.streams.errors import StreamsError
from ottla.streams.processors import Clock, KeyValueStore, Record, Timer
from ottla.streams.topology.processing import Process

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run

_Place = tuple[bytes, str, Clock]


@dataclass
class _Step:
    """What a processor did with one record or timer."""

    key: Any
    forwarded: list[Record] = field(default_factory=list)
    written: dict[str, Any] = field(default_factory=dict)
    timers: dict[_Place, Timer | None] = field(default_factory=dict)


class _Handle:
    """A store, as the processor sees it: the current key's value."""

    def __init__(self, name: str, state: State, operator: RunProcess) -> None:
        self._name = name
        self._state = state
        self._operator = operator

    def get(self, key: Any) -> Any:
        step = self._checked(key)
        if self._name in step.written:
            return step.written[self._name]
        entry = self._state.get(key)
        return None if entry is None else entry.value

    def put(self, key: Any, value: Any) -> None:
        self._checked(key).written[self._name] = value

    def delete(self, key: Any) -> Any:
        before = self.get(key)
        self.put(key, None)
        return before

    def _checked(self, key: Any) -> _Step:
        step = self._operator.step
        if step is None:
            raise StreamsError(f"the store {self._name} is used outside process() and on_timer()")
        if key != step.key or key is None:
            raise StreamsError(
                f"the store {self._name} holds the state of the current key ({step.key!r}), not of {key!r}: "
                "use select_key() first, so that the record comes to its state"
            )
        return step


class RunProcess(Operator[Process]):
    """process and process_values."""

    def __init__(self, node: Process, run: Run) -> None:
        super().__init__(node, run)
        self.step: _Step | None = None
        self.timers: dict[_Place, Timer] = {}
        self.stream_time_ms = -1
        self.due_ms = -1
        self._states = {store.name: run.state(store) for store in node.state}
        self.handles = {name: _Handle(name, state, self) for name, state in self._states.items()}
        self.processor = node.supplier()
        self.processor.init(_Context(self))

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        self.stream_time_ms = max(self.stream_time_ms, message.timestamp_ms)
        record = Record(message.key, message.value, message.timestamp_ms, message.headers)
        return self._stepped(message.key, self.processor.process, record)

    def receive(self, message: Message, side: int = 0) -> None:
        super().receive(message, side)
        if not self.run.batching:
            self.due_ms = self.stream_time_ms
            self._fire("event-time", self.due_ms)

    def end_batch(self) -> None:
        self.due_ms = self.stream_time_ms
        self._fire("event-time", self.due_ms)

    def advance(self, now_ms: int) -> None:
        self._fire("wall-clock", now_ms)

    def close(self) -> None:
        self.processor.close()

    def _fire(self, clock: Clock, now_ms: int) -> None:
        """Call timers that are due, by time, then by key."""
        while True:
            due = [
                (timer.at_ms, place, timer)
                for place, timer in self.timers.items()
                if timer.clock == clock and timer.at_ms <= now_ms
            ]
            if not due:
                return
            _, place, timer = min(due, key=lambda each: each[:2])
            del self.timers[place]
            try:
                results = self._stepped(timer.key, self.processor.on_timer, timer)
            except Exception as error:
                self.run.failed(self.node, error)
            else:
                self.forward(results)

    def _stepped(self, key: Any, method: Any, argument: Any) -> list[Message]:
        self.step = step = _Step(key)
        try:
            method(argument)
            results = [self._message(record) for record in step.forwarded]
        finally:
            self.step = None
        for name, value in step.written.items():
            self._states[name].put(key, Entry(value, self.stream_time_ms))
        for place, timer in step.timers.items():
            if timer is None:
                self.timers.pop(place, None)
            else:
                self.timers[place] = timer
        return results

    def _message(self, record: Record) -> Message:
        assert self.step is not None
        if self.node.values_only and record.key != self.step.key:
            raise StreamsError(
                f"{self.node.name}: process_values() keeps the key, but {self.step.key!r} became {record.key!r}: "
                "use process()"
            )
        return Message(record.key, record.value, record.timestamp_ms, record.headers)


class _Context:
    """What the processor may do: its `ProcessorContext`."""

    def __init__(self, operator: RunProcess) -> None:
        self._operator = operator

    def forward(self, record: Record) -> None:
        self._current().forwarded.append(record)

    def store(self, name: str) -> KeyValueStore:
        operator = self._operator
        if name not in operator.handles:
            raise StreamsError(
                f"{operator.node.name}: has no store {name!r}: name it in process(..., stores=[{name!r}])"
            )
        return operator.handles[name]

    def set_timer(self, at_ms: int, name: str = "", clock: Clock = "event-time") -> None:
        key = self._current().key
        self._current().timers[self._place(name, clock)] = Timer(key, name, at_ms, clock)

    def cancel_timer(self, name: str = "", clock: Clock = "event-time") -> None:
        self._current().timers[self._place(name, clock)] = None

    def _place(self, name: str, clock: Clock) -> _Place:
        return (repr(self._current().key).encode(), name, clock)

    def _current(self) -> _Step:
        if self._operator.step is None:
            raise StreamsError(
                f"{self._operator.node.name}: records are forwarded and timers set in process() and on_timer() alone"
            )
        return self._operator.step

    @property
    def now_ms(self) -> int:
        return self._operator.run.now_ms

    @property
    def stream_time_ms(self) -> int:
        return self._operator.stream_time_ms

    @property
    def topic(self) -> str | None:
        origin = self._operator.run.origin
        return None if origin is None else origin.topic

    @property
    def partition(self) -> int | None:
        origin = self._operator.run.origin
        return None if origin is None else origin.partition

    @property
    def offset(self) -> int | None:
        origin = self._operator.run.origin
        return None if origin is None else origin.offset
