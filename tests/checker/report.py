"""Pure: the verdict on a history, for a person to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.checker.anomaly import Anomaly
from tests.checker.history import Operation

EXAMPLES = 8


@dataclass(frozen=True, slots=True)
class Report:
    """What was done, and what was wrong."""

    operations: Sequence[Operation]
    anomalies: Sequence[Anomaly]
    worst_lag: tuple[float, Operation, str] | None = None

    @property
    def valid(self) -> bool:
        """Whether every promise was kept."""
        return not any(anomaly.fails for anomaly in self.anomalies)

    @property
    def bad(self) -> set[str]:
        """The names of the anomalies that broke a promise."""
        return {anomaly.name for anomaly in self.anomalies if anomaly.fails}

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        return {
            "valid": self.valid,
            "bad": sorted(self.bad),
            "counts": Counter(anomaly.name for anomaly in self.anomalies),
            "operations": {
                f"{action} {outcome}": count for (action, outcome), count in self._counts().items()
            },
            "worst_lag_ms": self.worst_lag and self.worst_lag[0],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _counts(self) -> Counter[tuple[str, str]]:
        return Counter((str(each.action), str(each.outcome)) for each in self.operations)

    def _lines(self) -> Iterator[str]:
        verdict = (
            "every promise was kept" if self.valid else f"broken: {', '.join(sorted(self.bad))}"
        )
        yield f"{len(self.operations)} operations, {verdict}"
        for (action, outcome), count in sorted(self._counts().items()):
            yield f"  {action:<14} {outcome:<8} {count:>7}"
        if self.worst_lag is not None:
            lag_ms, poll, key = self.worst_lag
            yield f"  worst lag {lag_ms:.0f} ms, at {key} before {poll}"
        for name, found in self._by_name().items():
            weight = "" if found[0].fails else " (allowed)"
            yield f"{name}{weight}: {len(found)}"
            if found[0].fails:
                yield from (f"  {anomaly.message}" for anomaly in found[:EXAMPLES])

    def _by_name(self) -> dict[str, list[Anomaly]]:
        grouped: dict[str, list[Anomaly]] = {}
        for anomaly in sorted(self.anomalies, key=lambda each: not each.fails):
            grouped.setdefault(anomaly.name, []).append(anomaly)
        return grouped
