"""Pure: X4: the offsets that bound a log stand in order, and none of them goes back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.history import Action, Operation, Outcome, Watermarks, of_action

OFFSETS = ("log_start", "last_stable", "high_watermark", "log_end")


def watermark_order(evidence: Evidence) -> Iterator[Anomaly]:
    """X4: log start <= last stable offset <= high watermark <= log end."""
    for operation, key, told in _told(evidence):
        known = [(name, getattr(told, name)) for name in OFFSETS if getattr(told, name) is not None]
        for (lower, low), (upper, high) in pairwise(known):
            if low > high:
                message = f"{operation} was told {lower} {low} and {upper} {high} of {key}"
                yield Anomaly("watermark-order", message)


def watermark_monotone(evidence: Evidence) -> Iterator[Anomaly]:
    """X4: while a leader leads, none of the offsets goes back."""
    seen: dict[tuple[str, int, str], list[tuple[Operation, int]]] = defaultdict(list)
    for operation, key, told in _told(evidence):
        for name in OFFSETS:
            if getattr(told, name) is not None:
                where = key, told.leader_epoch, name
                seen[where].append((operation, getattr(told, name)))
    for (key, epoch, name), answers in seen.items():
        yield from _going_back(f"{name} of {key} in leader epoch {epoch}", answers)


def _going_back(what: str, answers: list[tuple[Operation, int]]) -> Iterator[Anomaly]:
    ended = sorted(answers, key=lambda each: each[0].completed_ms)
    highest: tuple[Operation, int] | None = None
    position = 0
    for operation, offset in answers:
        while position < len(ended) and ended[position][0].before(operation):
            if highest is None or ended[position][1] > highest[1]:
                highest = ended[position]
            position += 1
        if highest is not None and offset < highest[1]:
            message = f"{operation} was told {offset} as {what}, after {highest[0]} {highest[1]}"
            yield Anomaly("watermark-went-back", message)


def _told(evidence: Evidence) -> Iterator[tuple[Operation, str, Watermarks]]:
    for operation in of_action(evidence.operations, Action.WATERMARKS):
        if operation.outcome is Outcome.OK:
            for key, told in operation.watermarks.items():
                yield operation, key, told
