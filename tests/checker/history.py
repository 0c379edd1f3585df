"""Pure: the history of a run: what each client asked, what it was told, and when.

A history is a file of JSON lines, two for each operation: one when it begins, one when its outcome is known. Whoever
was killed in between leaves the first line alone, and such an operation is `unknown`, like one whose answer never came.

    {"event": "invoke", "id": "w/7", "at_ms": 12.5, "process": "w", "action": "send", ...}
    {"event": "ok", "id": "w/7", "at_ms": 13.1, "steps": [["send", "t/0", "a", 41]]}

The second line need only have the fields that it changes. A log is called by its key, `topic/partition`; a value is
unique in its log. Actions are an open set, and a check looks only at those it knows. What brokers leave behind (which
replica holds what, who was elected) and what is done to them stands in `node` and `facts`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

FOREVER_MS: Final = float("inf")
NO_POSITION: Final = -1
"""What a group that has committed nothing is told."""


class Outcome(StrEnum):
    """What a client knows of its operation afterwards."""

    OK = "ok"
    FAIL = "fail"
    """It surely has had no effect."""
    UNKNOWN = "unknown"
    """It may have had one, or may have it later."""


class Isolation(StrEnum):
    """What a reader asks to be shown."""

    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


class Action(StrEnum):
    """The actions that checks know today."""

    SEND = "send"
    POLL = "poll"
    READ_TO_END = "read_to_end"
    """A poll of whole logs, from their start to where they end at that moment."""
    TRANSACTION = "transaction"
    """Sends and polls in between begin and end; with a group and positions it commits those, too."""
    ASSIGN = "assign"
    SUBSCRIBE = "subscribe"
    COMMIT = "commit"
    FETCH_OFFSETS = "fetch_offsets"
    WATERMARKS = "watermarks"
    FAULT = "fault"
    """Somebody mistreats a broker, a disk or the network, or puts it right."""
    REPLICA = "replica"
    """What the files of one replica of a log hold."""
    ELECTION = "election"
    """A controller, or the leader of a log, was elected, as a broker has written into its log."""


class Sent(NamedTuple):
    """One record that was sent; its offset where the client was told."""

    key: str
    value: str
    offset: int | None = None


class Polled(NamedTuple):
    """One record that was read."""

    key: str
    value: str
    offset: int


Step = Sent | Polled


class Watermarks(NamedTuple):
    """The offsets that bound a log, as one answer or several in this order told them; None where it was not asked."""

    log_start: int | None = None
    last_stable: int | None = None
    high_watermark: int | None = None
    log_end: int | None = None
    leader_epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that one client did.

    `process` is who did it and goes on for the whole run; `client` is the connection it had at the time: after a crash,
    or an error that ends a client, the process goes on with a new one.
    """

    id: str
    process: str
    action: str
    outcome: Outcome = Outcome.OK
    invoked_ms: float = 0.0
    completed_ms: float = FOREVER_MS
    client: int = 0
    steps: tuple[Step, ...] = ()
    keys: frozenset[str] = frozenset()
    """The logs that an assign or subscribe names; those that a read covers; those that a rebalance moved in a poll."""
    isolation: Isolation = Isolation.COMMITTED
    group: str = ""
    generation: int = -1
    positions: Mapping[str, int] = field(default_factory=dict)
    watermarks: Mapping[str, Watermarks] = field(default_factory=dict)
    error: str = ""
    node: int = -1
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sends(self) -> Iterator[Sent]:
        """The records that it wrote, in order."""
        return (step for step in self.steps if isinstance(step, Sent))

    @property
    def polls(self) -> Iterator[Polled]:
        """The records that it read, in order."""
        return (step for step in self.steps if isinstance(step, Polled))

    @property
    def reads(self) -> bool:
        """Whether what it polled counts as read."""
        return self.outcome is Outcome.OK

    @property
    def is_transaction(self) -> bool:
        """Whether its writes count together or not at all."""
        return self.action == Action.TRANSACTION

    def before(self, other: Operation) -> bool:
        """Whether it was over when the other began."""
        return self.completed_ms < other.invoked_ms

    def __str__(self) -> str:
        end = "never" if self.completed_ms == FOREVER_MS else f"{self.completed_ms:.1f}"
        return f"{self.process} {self.action} {self.id} ({self.outcome}, {self.invoked_ms:.1f}-{end} ms)"


def ended(operation: Operation, outcome: Outcome, completed_ms: float, **changes: Any) -> Operation:
    """The operation with its outcome; one of unknown outcome may take effect at any time from now on."""
    if outcome is Outcome.UNKNOWN:
        completed_ms = FOREVER_MS
    return replace(operation, outcome=outcome, completed_ms=completed_ms, **changes)


def dump(operations: Iterable[Operation]) -> Iterator[str]:
    """The lines of a history."""
    for operation in operations:
        yield invoke_line(operation)
        if operation.completed_ms != FOREVER_MS:
            yield completion_line(operation)


def invoke_line(operation: Operation) -> str:
    """The line that is written before the client asks."""
    told = {"event": "invoke", "id": operation.id, "at_ms": operation.invoked_ms}
    return json.dumps(told | _changed_fields(operation))


def completion_line(operation: Operation) -> str:
    """The line that is written when the outcome is known."""
    told = {
        "event": str(operation.outcome),
        "id": operation.id,
        "at_ms": operation.completed_ms,
    }
    return json.dumps(told | _changed_fields(operation))


def load(lines: Iterable[str]) -> list[Operation]:
    """The operations of one or more files, in the order in which they began."""
    found: dict[str, Operation] = {}
    for line in lines:
        told = json.loads(line)
        event, at_ms = told.pop("event"), told.pop("at_ms")
        values = {name: _decode(name, value) for name, value in told.items()}
        if event == "invoke":
            found[told["id"]] = Operation(**values, outcome=Outcome.UNKNOWN, invoked_ms=at_ms)
        else:
            found[told["id"]] = ended(found[told["id"]], Outcome(event), at_ms, **values)
    return in_order(found.values())


def in_order(operations: Iterable[Operation]) -> list[Operation]:
    """By the time when they began; a process does one after another."""
    return sorted(operations, key=lambda each: each.invoked_ms)


_TIMES = ("outcome", "invoked_ms", "completed_ms")
_EMPTY = Operation(id="", process="", action="")


def _changed_fields(operation: Operation) -> dict[str, Any]:
    names = (each.name for each in fields(Operation) if each.name not in _TIMES)
    return {
        name: _encode(name, getattr(operation, name))
        for name in names
        if getattr(operation, name) != getattr(_EMPTY, name)
    }


def _encode(name: str, value: Any) -> Any:
    if name == "steps":
        return [["send" if isinstance(step, Sent) else "poll", *step] for step in value]
    if name == "keys":
        return sorted(value)
    return value


def _decode(name: str, value: Any) -> Any:
    match name:
        case "steps":
            return tuple(_step(*step) for step in value)
        case "keys":
            return frozenset(value)
        case "isolation":
            return Isolation(value)
        case "watermarks":
            return {key: Watermarks(*offsets) for key, offsets in value.items()}
    return value


def _step(kind: str, key: str, value: str, offset: int | None) -> Step:
    if kind == "send":
        return Sent(key, value, offset)
    assert offset is not None, f"{value} was read from {key} at no offset"
    return Polled(key, value, offset)


def of_action(operations: Sequence[Operation], *actions: str) -> Iterator[Operation]:
    """The operations of these actions."""
    return (each for each in operations if each.action in actions)
