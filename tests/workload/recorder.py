"""Writes down what the clients of a run do, from any thread."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Final

from tests.checker.history import Action, Operation, Outcome, dump, ended

_AT_ONCE_MS: Final = 500.0
"""Shorter than any time-out of a client."""


class Recorder:
    """The history of one run."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._numbers = count()
        self._lock = Lock()
        self._open: dict[str, Operation] = {}
        self._ended: list[Operation] = []
        self._last_fault_ms = -1.0
        self._disturbances = 0
        self.ended: Counter[str] = Counter()
        """How many operations of each process have ended."""

    @property
    def now_ms(self) -> float:
        """Milliseconds since the run began."""
        return (time.monotonic() - self._began) * 1000

    @property
    def operations(self) -> list[Operation]:
        """All that happened so far."""
        with self._lock:
            return [*self._ended, *self._open.values()]

    def begin(self, process: str, action: str, **fields: Any) -> Operation:
        """Somebody is about to ask."""
        operation = Operation(
            id=f"{process}/{next(self._numbers)}",
            process=process,
            action=action,
            outcome=Outcome.UNKNOWN,
            invoked_ms=self.now_ms,
            **fields,
        )
        with self._lock:
            self._open[operation.id] = operation
        return operation

    def amend(self, operation: Operation, **changes: Any) -> Operation:
        """More is asked before the answer is known."""
        amended = replace(operation, **changes)
        with self._lock:
            self._open[operation.id] = amended
        return amended

    def end(self, operation: Operation, outcome: Outcome, **changes: Any) -> Operation:
        """Somebody knows what became of it, or never will."""
        done = ended(operation, outcome, self.now_ms, **changes)
        with self._lock:
            del self._open[operation.id]
            self._ended.append(done)
            self.ended[done.process] += 1
        return done

    def note(self, process: str, action: str, **fields: Any) -> None:
        """Something that takes no time and cannot fail."""
        self.end(self.begin(process, action, **fields), Outcome.OK)

    def fault(self, what: str, keys: Collection[str] = (), **facts: Any) -> None:
        """The broker or the network is mistreated now, which has to do with these logs."""
        self._last_fault_ms = self.now_ms
        self.note("faults", Action.FAULT, keys=frozenset(keys), facts={"what": what, **facts})

    @contextmanager
    def disturbance(self) -> Iterator[None]:
        """Faults, and all that follows from them, happen within this time."""
        self._disturbances += 1
        try:
            yield
        finally:
            self._last_fault_ms = self.now_ms
            self._disturbances -= 1

    def refused(self, operation: Operation) -> Outcome:
        """What a refusal is worth: a fault may have hidden that the first attempt of the client had an effect.

        So may a client that lost patience with a slow machine, hung up, and asked again.
        """
        disturbed = self._disturbances > 0 or self._last_fault_ms >= operation.invoked_ms
        asked_again = self.now_ms - operation.invoked_ms > _AT_ONCE_MS
        return Outcome.UNKNOWN if disturbed or asked_again else Outcome.FAIL

    def is_busy(self, process: str) -> bool:
        """Whether somebody waits for an answer."""
        with self._lock:
            return any(each.process == process for each in self._open.values())

    def faults(self) -> Mapping[str, int]:
        """How often what was done to the broker or the network."""
        counts: dict[str, int] = {}
        for operation in self.operations:
            if operation.action == Action.FAULT:
                what = operation.facts["what"]
                counts[what] = counts.get(what, 0) + 1
        return counts

    def save(self, path: Path) -> Path:
        """Keep the history in a file."""
        path.write_text("".join(f"{line}\n" for line in dump(self.operations)))
        return path
