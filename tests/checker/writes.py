"""Pure: rows 1-4, 10 and 11: what became of records that were written, each named as in Jepsen's Kafka workload."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.anomaly import Anomaly
from tests.checker.cycles import components
from tests.checker.evidence import Evidence
from tests.checker.history import Action, Isolation, Outcome
from tests.checker.replicas import Replica, replicas_of


def inconsistent_offsets(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 1: two values at one offset."""
    for key, log in evidence.logs[Isolation.UNCOMMITTED].items():
        for offset, values in sorted(log.values.items()):
            if len(values) > 1:
                both = " and ".join(sorted(values))
                where = evidence.around(key, offset)
                yield Anomaly("inconsistent-offsets", f"{key}@{offset} is {both}: {where}")


def duplicate(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 2: one value at two offsets; a producer without idempotence may do that, and a copy if its input does."""
    logs, files = evidence.logs[Isolation.UNCOMMITTED], replicas_of(evidence)
    for key, log in logs.items():
        inputs = [each for each in evidence.expectations.copies if key in each.outputs]
        for value, offsets in log.offsets_of.items():
            if len(offsets) == 1:
                continue
            copied = any(
                len(logs[name].offsets_of.get(copy.original(value), ())) > 1
                for copy in inputs
                for name in copy.inputs
            )
            fails = not copied and not _sent_anew(files.get(key, []), sorted(offsets))
            message = f"{value} is in {key} at {sorted(offsets)}"
            yield Anomaly("duplicate", message, fails and evidence.expectations.idempotent)


def _sent_anew(replicas: list[Replica], offsets: list[int]) -> bool:
    """Whether a client wrote again, under a new epoch of its own, what it had written before the leader changed.

    No broker can tell that. librdkafka takes a record whose leader has moved for unwritten; if a later one on its way
    is out of order then, it begins a new epoch and sends both (librdkafka#4953, on Apache Kafka as well).
    """
    batches = [replica.batch_at(offset) for replica in replicas[:1] for offset in offsets]
    found = [batch for batch in batches if batch is not None and batch.producer_id >= 0]
    return (
        len(found) == len(offsets)
        and len({batch.producer_id for batch in found}) == 1
        and len({batch.producer_epoch for batch in found}) == len(offsets)
        and len({batch.leader_epoch for batch in found}) == len(offsets)
    )


def lost_write(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 3: a record that counts was never read, though a later one was."""
    for isolation, logs in evidence.logs.items():
        for key, log in logs.items():
            read = evidence.read[isolation][key]
            bound = max((min(log.offsets_of[value]) for value in read), default=-1)
            for value, offsets in log.offsets_of.items():
                if max(offsets) > bound or value in read:
                    continue
                writer = evidence.writer.get((key, value))
                if writer is not None and evidence.must_have_happened(writer):
                    where = evidence.around(key, max(offsets))
                    message = f"{value} of {writer} was never read by {isolation}: {where}"
                    yield Anomaly("lost-write", message, evidence.expectations.acks_all)


def unseen(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 4: a record that was acknowledged, or read, is missing from a whole read that began afterwards."""
    for isolation in Isolation:
        for final in evidence.final_reads(isolation):
            found = {(polled.key, polled.value) for polled in final.polls}
            for operation in evidence.operations:
                if operation.outcome is not Outcome.OK or not operation.before(final):
                    continue
                careful = isolation is operation.isolation or isolation is Isolation.UNCOMMITTED
                for step in (*operation.sends, *(operation.polls if careful else ())):
                    if step.key in final.keys and (step.key, step.value) not in found:
                        message = (
                            f"{step.value} of {operation} is not in {step.key}, read by {final}"
                        )
                        yield Anomaly("unseen", message)


def phantom(evidence: Evidence) -> Iterator[Anomaly]:
    """A record that nobody sent to this log: damaged, made up, or of another log.

    A log whose writers kept no history says nothing.
    """
    recorded = {key for key, _ in evidence.writer}
    for key, values in evidence.read[Isolation.UNCOMMITTED].items():
        for value in sorted(values):
            if key in recorded and (key, value) not in evidence.writer:
                elsewhere = [other for other, sent in evidence.writer if sent == value]
                hint = f", it was sent to {', '.join(elsewhere)}" if elsewhere else ""
                yield Anomaly("phantom", f"nobody sent {value} to {key}{hint}")


def nonmonotonic_send(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 10: of two records that a client sent to one log, the later stands before the earlier."""
    for operations in evidence.by_client(Action.SEND, Action.TRANSACTION).values():
        last: dict[str, tuple[int, str, str]] = {}
        for operation in operations:
            for sent in operation.sends:
                if sent.offset is None:
                    continue
                offset, value, earlier = last.get(sent.key, (-1, "", ""))
                if sent.offset <= offset:
                    within = "int-" if earlier == operation.id else ""
                    said = f"{operation} sent {sent.value} after {value}, which is at {offset}"
                    message = f"{said}: {evidence.around(sent.key, sent.offset)}"
                    yield Anomaly(f"{within}nonmonotonic-send", message)
                last[sent.key] = sent.offset, sent.value, operation.id


def interleaved_sends(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 11: somebody else's record between two of one transaction, or a circle of such; both are allowed."""
    for operation in evidence.transactions():
        last: dict[str, int] = {}
        for sent in operation.sends:
            log = evidence.logs[Isolation.COMMITTED][sent.key]
            if sent.offset is None:
                continue
            foreign = log.between(last.get(sent.key, sent.offset), sent.offset)
            if foreign:
                message = f"{operation} has {len(foreign)} foreign records before {sent.value}"
                yield Anomaly("int-send-skip", message, fails=False)
            last[sent.key] = sent.offset
    for circle in components(_follows(evidence)):
        yield Anomaly("G0", f"each wrote after another: {', '.join(sorted(circle))}", fails=False)


def _follows(evidence: Evidence) -> dict[str, set[str]]:
    """For each transaction, those whose record is next in some log."""
    graph: dict[str, set[str]] = {each.id: set() for each in evidence.transactions()}
    for key, log in evidence.logs[Isolation.COMMITTED].items():
        before: set[str] = set()
        for offset in log.offsets:
            writers = (evidence.writer.get((key, value)) for value in log.values[offset])
            here = {each.id for each in writers if each is not None and each.id in graph}
            for one in before:
                graph[one] |= here - {one}
            before = here
    return graph
