"""Pure: X1 and X2: a copy has each record once and in order, and money is neither made nor lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.expectations import Copy
from tests.checker.history import Operation

_SHOWN = 5


def exactly_once_copy(evidence: Evidence) -> Iterator[Anomaly]:
    """X1: as read_committed, the output has the records of the input: each once, those of a key in their order."""
    for copy in evidence.expectations.copies:
        source = _last_read(evidence, copy.inputs)
        target = _last_read(evidence, copy.outputs)
        if source is None or target is None:
            yield Anomaly("copy", f"copy {copy.name}: nobody read all of its logs to the end")
            continue
        read = Counter(
            copy.original(each.value) for each in target.polls if each.key in copy.outputs
        )
        wanted = Counter(each.value for each in source.polls if each.key in copy.inputs)
        for name, difference in (("lost", wanted - read), ("extra", read - wanted)):
            if difference:
                message = f"copy {copy.name}: {difference.total()} records, {_some(difference)}"
                yield Anomaly(f"copy-{name}", message)
        yield from _disorder(copy, source, target)


def money(evidence: Evidence) -> Iterator[Anomaly]:
    """X2: whoever reads a whole ledger finds that all its amounts cancel out."""
    for ledger in evidence.expectations.ledgers:
        for final in evidence.final_reads():
            if final.keys >= ledger.keys:
                amounts = [
                    ledger.amount(each.value) for each in final.polls if each.key in ledger.keys
                ]
                if sum(amounts):
                    message = (
                        f"{final} finds {sum(amounts)} in {len(amounts)} entries of {ledger.name}"
                    )
                    yield Anomaly("money", message)


def _last_read(evidence: Evidence, keys: frozenset[str]) -> Operation | None:
    """The last whole read that covers the logs."""
    covering = [final for final in evidence.final_reads() if final.keys >= keys]
    return covering[-1] if covering else None


def _disorder(copy: Copy, source: Operation, target: Operation) -> Iterator[Anomaly]:
    place = {
        polled.value: (polled.key, polled.offset)
        for polled in source.polls
        if polled.key in copy.inputs
    }
    read = (copy.original(each.value) for each in target.polls if each.key in copy.outputs)
    last: dict[tuple[str, str], str] = {}
    for value in dict.fromkeys(read):
        if value in place:
            key, offset = place[value]
            earlier = last.get((key, copy.record_key(value)))
            if earlier is not None and place[earlier][1] > offset:
                message = f"copy {copy.name}: {earlier} comes before {value}, which {key} has first"
                yield Anomaly("copy-disorder", message)
            last[key, copy.record_key(value)] = value


def _some(values: Counter[str]) -> str:
    shown = ", ".join(sorted(values)[:_SHOWN])
    return f"{shown} and more" if len(values) > _SHOWN else shown
