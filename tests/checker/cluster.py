"""Pure: X7, X8 and X10: one controller and one leader at a time, no zombie is believed, and faults hold nobody up."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.history import Action, Operation, Outcome, of_action

ZOMBIE: Final = "zombie"
"""The fact of an operation that reached a broker, or came from a client, that others had replaced for certain."""
WITHIN: Final = "progress_within_ms"
"""The fact of a fault after which writes must be acknowledged again before long, to every log that it names."""


def single_controller(evidence: Evidence) -> Iterator[Anomaly]:
    """X7: a controller epoch belongs to one broker; a leader epoch of a log was given out once, to one broker."""
    given: dict[tuple[str, int], Operation] = {}
    for election in of_action(evidence.everything, Action.ELECTION):
        for key in election.keys or frozenset({""}):
            epoch = election.facts["epoch"]
            first = given.setdefault((key, epoch), election)
            if first is election:
                continue
            who, before = election.facts["elected"], first.facts["elected"]
            what = f"epoch {epoch} of {f'the leader of {key}' if key else 'the controller'}"
            if who != before or key:
                message = (
                    f"{what} went to {before}, by broker {first.node}, and to {who}, by broker"
                    f" {election.node}"
                )
                yield Anomaly("two-leaders" if key else "two-controllers", message)


def believed_zombie(evidence: Evidence) -> Iterator[Anomaly]:
    """X8: a leader that was replaced while it was stopped has acknowledged a write, or a former member's commit."""
    for operation in evidence.operations:
        if ZOMBIE in operation.facts and operation.outcome is Outcome.OK:
            yield Anomaly("zombie", f"{operation} was accepted by {operation.facts[ZOMBIE]}")


def progress(evidence: Evidence) -> Iterator[Anomaly]:
    """X10: after each fault, and after it was put right, every log takes writes again in time."""
    for fault, key, waited_ms in waits(evidence):
        limit_ms = fault.facts[WITHIN]
        if waited_ms is None or waited_ms > limit_ms:
            waited = "never" if waited_ms is None else f"after {waited_ms:.0f} ms"
            message = (
                f"{key} was written to {waited} since {fault.facts['what']} at"
                f" {fault.completed_ms:.0f} ms, {limit_ms} ms were allowed"
            )
            yield Anomaly("no-progress", message)


def waits(evidence: Evidence) -> Iterator[tuple[Operation, str, float | None]]:
    """For each fault and log: when the first write that began after the fault was acknowledged."""
    writes = _acknowledged(evidence)
    for fault in of_action(evidence.everything, Action.FAULT):
        if WITHIN not in fault.facts:
            continue
        for key in fault.keys:
            begun, ended = writes[key]
            first = bisect_left(begun, fault.completed_ms)
            # Those that began later may have ended earlier.
            done = min(ended[first:], default=None)
            yield fault, key, None if done is None else done - fault.completed_ms


def longest_gap_ms(evidence: Evidence) -> float:
    """The longest time between two acknowledged writes to one log, from the first fault on."""
    writes = _acknowledged(evidence)
    faults = [each for each in of_action(evidence.everything, Action.FAULT) if each.keys]
    longest = 0.0
    for key in {key for fault in faults for key in fault.keys}:
        since = min(fault.completed_ms for fault in faults if key in fault.keys)
        ends = sorted(ended for ended in writes[key][1] if ended > since)
        longest = max([longest, *(later - earlier for earlier, later in pairwise([since, *ends]))])
    return longest


def _acknowledged(evidence: Evidence) -> dict[str, tuple[list[float], list[float]]]:
    """For each log, when its acknowledged writes began, in order, and when each of them ended."""
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for operation in evidence.everything:
        if operation.outcome is Outcome.OK:
            for key in {sent.key for sent in operation.sends}:
                found[key][0].append(operation.invoked_ms)
                found[key][1].append(operation.completed_ms)
    return found
