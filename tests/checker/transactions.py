"""Pure: rows 5-7 and 12: transactions count wholly or not at all, and nobody sees them before they do."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.anomaly import Anomaly
from tests.checker.cycles import components
from tests.checker.evidence import Evidence
from tests.checker.history import Isolation, Operation, Outcome, Polled


def aborted_read(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 5, G1a: somebody read what an aborted transaction wrote, or a send that was refused."""
    for reader, polled, writer in _reads(evidence):
        careful = reader.isolation is Isolation.COMMITTED or not writer.is_transaction
        if careful and writer.outcome is Outcome.FAIL:
            where = evidence.around(polled.key, polled.offset)
            message = f"{reader} read {polled.value} of {writer}: {where}"
            yield Anomaly("aborted-read", message)


def precommitted_read(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 6: a transaction read, as committed, what it wrote itself."""
    for reader, polled, writer in _reads(evidence):
        if reader is writer and reader.isolation is Isolation.COMMITTED:
            message = f"{reader} read its own {polled.value} at {polled.key}@{polled.offset}"
            yield Anomaly("precommitted-read", message)


def torn_transaction(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 7: of a transaction that counts, whole reads show a part."""
    for final in evidence.final_reads():
        found = {(polled.key, polled.value) for polled in final.polls}
        for writer in evidence.transactions():
            sent = [each for each in writer.sends if each.key in final.keys]
            there = [each for each in sent if (each.key, each.value) in found]
            if there and len(there) < len(sent):
                missing = [each.value for each in sent if each not in there]
                message = (
                    f"{final} shows {len(there)} of {len(sent)} records of {writer}, not {missing}"
                )
                yield Anomaly("torn-transaction", message)


def circular_information_flow(evidence: Evidence) -> Iterator[Anomaly]:
    """Row 12, G1c: transactions that each read what another one wrote, in a circle."""
    graph: dict[str, set[str]] = {}
    for reader, _, writer in _reads(evidence):
        if reader.is_transaction and reader.isolation is Isolation.COMMITTED:
            graph.setdefault(reader.id, set())
            if reader is not writer:
                graph.setdefault(writer.id, set()).add(reader.id)
    for circle in components(graph):
        yield Anomaly("G1c", f"each read of another: {', '.join(sorted(circle))}")


def _reads(evidence: Evidence) -> Iterator[tuple[Operation, Polled, Operation]]:
    """Reader, record and writer of all that was read."""
    for reader in evidence.operations:
        if reader.reads:
            for polled in reader.polls:
                writer = evidence.writer.get((polled.key, polled.value))
                if writer is not None:
                    yield reader, polled, writer
