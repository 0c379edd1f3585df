"""Pure: what a history shows at a glance: the logs as clients saw them, who wrote what, who read what.

There are two views of every log. All that anybody read, or was told the offset of, is in the view of read_uncommitted.
The view of read_committed leaves out what only careless readers saw, and what was sent in vain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tests.checker.expectations import Expectations
from tests.checker.history import Action, Isolation, Operation, Outcome, in_order, of_action

_AROUND = 3


class SeenLog:
    """One log in one view: the values at each offset that is known, and where each value is."""

    def __init__(self) -> None:
        self.values: dict[int, set[str]] = defaultdict(set)
        self.offsets_of: dict[str, set[int]] = defaultdict(set)
        self.offsets: list[int] = []

    def add(self, offset: int, value: str) -> None:
        """Somebody saw the value there."""
        self.values[offset].add(value)
        self.offsets_of[value].add(offset)

    def seal(self) -> None:
        """All is added."""
        self.offsets = sorted(self.values)

    def between(self, first: int, last: int) -> Sequence[int]:
        """The known offsets after the first and before the last."""
        return self.offsets[bisect_right(self.offsets, first) : bisect_left(self.offsets, last)]

    def around(self, offset: int) -> str:
        """A few offsets on both sides, to be read by a person."""
        at = bisect_left(self.offsets, offset)
        shown = self.offsets[max(0, at - _AROUND) : at + _AROUND + 1]
        return ", ".join(f"{each}: {' | '.join(sorted(self.values[each]))}" for each in shown)


class Evidence:
    """A history, and all that follows from it without judging."""

    def __init__(
        self, operations: Iterable[Operation], expectations: Expectations | None = None
    ) -> None:
        self.expectations = expectations or Expectations()
        everything = self.everything = in_order(operations)
        compacted = self.expectations.compacted
        # Records of compacted logs go: the checks of logs that keep everything do not see them.
        self.compacted = [each for each in everything if _has_to_do_with(each, compacted)]
        self.operations = [_without(each, compacted) for each in everything]
        self.writer: dict[tuple[str, str], Operation] = {
            (sent.key, sent.value): operation
            for operation in self.operations
            for sent in operation.sends
        }
        self.read: dict[Isolation, dict[str, set[str]]] = {
            isolation: defaultdict(set) for isolation in Isolation
        }
        self._collect_reads()
        self.logs: dict[Isolation, dict[str, SeenLog]] = {
            isolation: defaultdict(SeenLog) for isolation in Isolation
        }
        self._collect_logs()

    def must_have_happened(self, operation: Operation) -> bool:
        """Whether the writes of an operation count: it was told so, or somebody has read of it."""
        if operation.outcome is not Outcome.UNKNOWN:
            return operation.outcome is Outcome.OK
        view = Isolation.COMMITTED if operation.is_transaction else Isolation.UNCOMMITTED
        return any(sent.value in self.read[view][sent.key] for sent in operation.sends)

    def written(self) -> Iterator[Operation]:
        """The operations whose writes count."""
        return (each for each in self.operations if each.steps and self.must_have_happened(each))

    def transactions(self) -> Iterator[Operation]:
        """The transactions that count."""
        return (each for each in self.written() if each.is_transaction)

    def final_reads(self, isolation: Isolation = Isolation.COMMITTED) -> list[Operation]:
        """Reads of whole logs."""
        whole = of_action(self.operations, Action.READ_TO_END)
        return [each for each in whole if each.reads and each.isolation is isolation]

    def by_client(self, *actions: str) -> dict[tuple[str, int], list[Operation]]:
        """The operations of each client, in the order in which it did them."""
        found: dict[tuple[str, int], list[Operation]] = defaultdict(list)
        for operation in of_action(self.operations, *actions):
            found[operation.process, operation.client].append(operation)
        return found

    def around(self, key: str, offset: int) -> str:
        """What is known of a log near an offset."""
        return f"{key} has {self.logs[Isolation.UNCOMMITTED][key].around(offset)}"

    def _collect_reads(self) -> None:
        for operation in self.operations:
            if operation.reads:
                for polled in operation.polls:
                    self.read[Isolation.UNCOMMITTED][polled.key].add(polled.value)
                    if operation.isolation is Isolation.COMMITTED:
                        self.read[Isolation.COMMITTED][polled.key].add(polled.value)

    def _collect_logs(self) -> None:
        committed, everything = (
            self.logs[Isolation.COMMITTED],
            self.logs[Isolation.UNCOMMITTED],
        )
        for operation in self.operations:
            counts = self.must_have_happened(operation)
            for sent in operation.sends:
                if sent.offset is not None:
                    everything[sent.key].add(sent.offset, sent.value)
                    if counts:
                        committed[sent.key].add(sent.offset, sent.value)
            # What a poller was given is true even if its own transaction came to nothing.
            for polled in operation.polls:
                everything[polled.key].add(polled.offset, polled.value)
                if operation.isolation is Isolation.COMMITTED:
                    committed[polled.key].add(polled.offset, polled.value)
        for view in self.logs.values():
            for log in view.values():
                log.seal()


def _has_to_do_with(operation: Operation, keys: frozenset[str]) -> bool:
    return not keys.isdisjoint(operation.keys) or any(each.key in keys for each in operation.steps)


def _without(operation: Operation, keys: frozenset[str]) -> Operation:
    """The operation, as far as it has to do with other logs."""
    if not keys or not _has_to_do_with(operation, keys):
        return operation
    steps = tuple(each for each in operation.steps if each.key not in keys)
    return replace(operation, steps=steps, keys=operation.keys - keys)
