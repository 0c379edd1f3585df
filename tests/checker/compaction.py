"""Pure: X9: of a compacted log the newest record of each key stays, where it was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.expectations import Compaction
from tests.checker.history import Action, Operation, Outcome, Step, of_action


def compaction(evidence: Evidence) -> Iterator[Anomaly]:
    """X9: a whole read shows for each key the newest value known, at its offset, and nothing that was aborted."""
    writers = {
        (sent.key, sent.value): operation
        for operation in evidence.compacted
        for sent in operation.sends
    }
    for promise in evidence.expectations.compactions:
        yield from _moved(evidence, promise)
        for read in of_action(evidence.compacted, Action.READ_TO_END):
            if read.reads and read.keys & promise.keys:
                yield from _forgotten(evidence, promise, read)
                yield from _aborted(promise, read, writers)


def _moved(evidence: Evidence, promise: Compaction) -> Iterator[Anomaly]:
    values: dict[tuple[str, int], str] = {}
    for step in _known(evidence, promise):
        if step.offset is not None:
            other = values.setdefault((step.key, step.offset), step.value)
            if other != step.value:
                message = f"{step.key}@{step.offset} is {other} and {step.value}"
                yield Anomaly("compaction-moved", message)


def _forgotten(evidence: Evidence, promise: Compaction, read: Operation) -> Iterator[Anomaly]:
    shown: dict[tuple[str, str], int] = defaultdict(lambda: -1)
    for polled in read.polls:
        where = polled.key, promise.record_key(polled.value)
        shown[where] = max(shown[where], polled.offset)
    for operation in evidence.compacted:
        if operation.outcome is not Outcome.OK or not operation.before(read):
            continue
        for step in operation.steps:
            if step.key not in read.keys & promise.keys or step.offset is None:
                continue
            found = shown[step.key, promise.record_key(step.value)]
            if found < step.offset:
                message = (
                    f"{step.value} of {operation} is newer, at {step.key}@{step.offset}, than what"
                    f" {read} shows of its key, at {found}"
                )
                yield Anomaly("compaction-lost", message)


def _aborted(
    promise: Compaction, read: Operation, writers: dict[tuple[str, str], Operation]
) -> Iterator[Anomaly]:
    for polled in read.polls:
        writer = writers.get((polled.key, polled.value))
        if polled.key in promise.keys and writer is not None and writer.outcome is Outcome.FAIL:
            message = f"{read} shows {polled.value} of {writer}"
            yield Anomaly("compaction-aborted", message)


def _known(evidence: Evidence, promise: Compaction) -> Iterator[Step]:
    for operation in evidence.compacted:
        yield from (step for step in operation.steps if step.key in promise.keys)
