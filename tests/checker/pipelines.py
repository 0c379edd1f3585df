"""Pure: X1 and X2: a copy has each record once and in order, and money is neither made nor lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

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
    wanted = _by_record_key(copy, (each.value for each in source.polls if each.key in copy.inputs))
    read = (copy.original(each.value) for each in target.polls if each.key in copy.outputs)
    found = _by_record_key(copy, read)
    for record_key, values in found.items():
        place = {value: index for index, value in enumerate(wanted.get(record_key, ()))}
        known = [value for value in values if value in place]
        for earlier, later in pairwise(known):
            if place[earlier] > place[later]:
                message = f"copy {copy.name}: {earlier} comes before {later}, both of {record_key}"
                yield Anomaly("copy-disorder", message)


def _by_record_key(copy: Copy, values: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for value in values:
        found[copy.record_key(value)].setdefault(value)
    return {record_key: list(values) for record_key, values in found.items()}


def _some(values: Counter[str]) -> str:
    shown = ", ".join(sorted(values)[:_SHOWN])
    return f"{shown} and more" if len(values) > _SHOWN else shown
