"""Pure: rows 8, 9 and 13: a reader gets every record, in order, and before long."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.history import Action, Isolation, Operation, Outcome, Polled

READING = (Action.POLL, Action.TRANSACTION)
MOVING = (Action.ASSIGN, Action.SUBSCRIBE)


def order_within_poll(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 8: within one operation a record was left out, or given again; logs that were rebalanced meanwhile may."""
    for operation in evidence.operations:
        excused = operation.keys if operation.action in READING else frozenset()
        last = dict.fromkeys(operation.keys, -1) if operation.action == Action.READ_TO_END else {}
        for polled in operation.polls:
            if polled.key in last and polled.key not in excused:
                yield from _compare(evidence, operation, last[polled.key], polled, "int-")
            last[polled.key] = polled.offset


def order_between_polls(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 9: from one operation to the next a record was left out, or given again.

    With subscribe the group moves logs between clients, which may happen unnoticed: then it is only worth a line.
    """
    for operations in evidence.by_client(*READING, *MOVING).values():
        last: dict[str, int] = {}
        fails = True
        for operation in operations:
            if operation.action in MOVING:
                fails = operation.action == Action.ASSIGN
                last = _moved(last, operation)
            elif operation.reads:
                for polled in _first_of_each_key(operation):
                    if polled.key in last and polled.key not in operation.keys:
                        yield from _compare(
                            evidence, operation, last[polled.key], polled, "", fails
                        )
                last |= {polled.key: polled.offset for polled in operation.polls}


def realtime_lag(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 13: a reader was asked for records long after the next one was known to exist, and had not read it."""
    bound = evidence.expectations.max_lag_ms
    worst = worst_lag(evidence)
    if worst is not None and bound is not None and worst[0] > bound:
        message = (
            f"{worst[1]} began {worst[0]:.0f} ms after the next record of {worst[2]} was known"
        )
        yield Anomaly("realtime-lag", message)


def worst_lag(evidence: Evidence) -> tuple[float, Operation, str] | None:
    """The longest time a record lay unread before a poll that could have had it: (ms, poll, log)."""
    known = {isolation: _known_since(evidence, isolation) for isolation in Isolation}
    worst: tuple[float, Operation, str] | None = None
    for operations in evidence.by_client(*READING, *MOVING).values():
        last: dict[str, int] = {}
        for operation in operations:
            if operation.action in MOVING:
                last = _moved(last, operation)
                continue
            last |= {polled.key: polled.offset for polled in operation.polls}
            if operation.invoked_ms < evidence.expectations.lag_counts_from_ms:
                continue
            for key, offset in last.items():
                since = _next_known_since(known[operation.isolation].get(key), offset)
                lag = operation.invoked_ms - since
                if lag > 0 and (worst is None or lag > worst[0]):
                    worst = lag, operation, key
    return worst


def _moved(last: dict[str, int], operation: Operation) -> dict[str, int]:
    """The offset before the next of each log, where it is known: a group alone knows where its members go on."""
    kept = {key: offset for key, offset in last.items() if key in operation.keys}
    return kept | {key: position - 1 for key, position in operation.positions.items()}


Known = tuple[list[int], list[float]]
"""Offsets of a log in order, and since when it was known that there is a record at them or behind."""


def _known_since(evidence: Evidence, isolation: Isolation) -> dict[str, Known]:
    since: dict[str, dict[int, float]] = defaultdict(dict)
    for operation in evidence.operations:
        if operation.outcome is not Outcome.OK:
            continue
        careful = isolation is Isolation.COMMITTED
        seen = operation.polls if not careful or operation.isolation is isolation else ()
        for step in (*operation.sends, *seen):
            if step.offset is not None:
                times = since[step.key]
                earlier = times.get(step.offset, operation.completed_ms)
                times[step.offset] = min(earlier, operation.completed_ms)
    found: dict[str, Known] = {}
    for key, times in since.items():
        offsets = sorted(times)
        earliest = [times[offset] for offset in offsets]
        # A record is there no later than one behind it.
        for index in range(len(earliest) - 2, -1, -1):
            earliest[index] = min(earliest[index], earliest[index + 1])
        found[key] = offsets, earliest
    return found


def _next_known_since(known: Known | None, offset: int) -> float:
    if known is None:
        return float("inf")
    index = bisect_right(known[0], offset)
    return known[1][index] if index < len(known[1]) else float("inf")


def _first_of_each_key(operation: Operation) -> list[Polled]:
    first: dict[str, Polled] = {}
    for polled in operation.polls:
        first.setdefault(polled.key, polled)
    return list(first.values())


def _compare(
    evidence: Evidence,
    operation: Operation,
    last: int,
    polled: Polled,
    within: str,
    fails: bool = True,
) -> Iterator[Anomaly]:
    if polled.offset == last + 1:
        return
    skipped = evidence.logs[operation.isolation][polled.key].between(last, polled.offset)
    if polled.offset > last and not skipped:
        return
    said = f"{operation} was given {polled.key}@{polled.offset} after {last}"
    where = evidence.around(polled.key, polled.offset)
    if skipped:
        message = f"{said}, without {len(skipped)} records from {skipped[0]} on: {where}"
        yield Anomaly(f"{within}poll-skip", message, fails)
    else:
        yield Anomaly(f"{within}nonmonotonic-poll", f"{said}: {where}", fails)
