"""Pure: X3: the committed offsets of a group behave like one register for each log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.history import NO_POSITION, Action, Operation, Outcome, of_action


class Commit(NamedTuple):
    """A position that somebody tried to keep."""

    position: int
    operation: Operation


def committed_offset(evidence: Evidence) -> Iterator[Anomaly]:
    """X3: what a group is told it committed was attempted, and is not older than a commit that was acknowledged.

    A commit of unknown outcome may have landed, or land later.
    """
    commits = _commits(evidence)
    for fetch in of_action(evidence.operations, Action.FETCH_OFFSETS):
        if fetch.outcome is not Outcome.OK:
            continue
        for key, told in fetch.positions.items():
            begun = [
                each
                for each in commits[fetch.group, key]
                if each.operation.invoked_ms <= fetch.completed_ms
            ]
            highest = max((each.position for each in begun), default=NO_POSITION)
            possible = _possible(begun, fetch)
            said = f"{fetch} was told {told} for {key} of group {fetch.group}"
            if told > highest:
                message = f"{said}; nobody had tried to commit more than {highest}"
                yield Anomaly("committed-offset-above", message)
            elif told not in possible:
                message = f"{said}; it can only be one of {sorted(possible)}"
                yield Anomaly("committed-offset-lost", message)


def stale_commit(evidence: Evidence) -> Iterator[Anomaly]:
    """X3: a commit was accepted from a generation that was known to be over."""
    shown = _generations(evidence)
    for commit in of_action(evidence.operations, Action.COMMIT, Action.TRANSACTION):
        if commit.outcome is not Outcome.OK or not commit.positions:
            continue
        for newer in shown[commit.group]:
            if newer.generation > commit.generation and newer.before(commit):
                message = (
                    f"{commit} in generation {commit.generation} of group {commit.group} was"
                    f" accepted, though {newer} had shown generation {newer.generation}"
                )
                yield Anomaly("stale-commit", message)
                break


def _generations(evidence: Evidence) -> dict[str, list[Operation]]:
    """For each group, the operations that were the first to show a generation."""
    first: dict[tuple[str, int], Operation] = {}
    for operation in evidence.operations:
        if operation.group and operation.generation >= 0 and operation.outcome is Outcome.OK:
            where = operation.group, operation.generation
            if where not in first or operation.completed_ms < first[where].completed_ms:
                first[where] = operation
    found: dict[str, list[Operation]] = defaultdict(list)
    for (group, _), operation in first.items():
        found[group].append(operation)
    return found


def _commits(evidence: Evidence) -> dict[tuple[str, str], list[Commit]]:
    found: dict[tuple[str, str], list[Commit]] = defaultdict(list)
    for operation in of_action(evidence.operations, Action.COMMIT, Action.TRANSACTION):
        if operation.outcome is not Outcome.FAIL:
            for key, position in operation.positions.items():
                found[operation.group, key].append(Commit(position, operation))
    return found


def _possible(begun: list[Commit], fetch: Operation) -> set[int]:
    """The positions that a register may hold during the fetch: those not overwritten for certain.

    After a commit of one generation, none of an earlier one may land, however long it was under way.
    """
    over = [
        each.operation
        for each in begun
        if each.operation.outcome is Outcome.OK and each.operation.before(fetch)
    ]
    last_begun = max((each.invoked_ms for each in over), default=0.0)
    generation = max((each.generation for each in over), default=-1)
    possible = set() if over else {NO_POSITION}
    return possible | {
        each.position
        for each in begun
        if each.operation.completed_ms >= last_begun and each.operation.generation >= generation
    }
