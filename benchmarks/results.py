"""Pure: rows, the values measured for them, and what follows from the values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.goals import Goal, Verdict, judge
from benchmarks.statistics import median, ratio

CLIENT_BOUND = 0.9
"""With its busiest thread above this share of a core, the client and not the broker is slow."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what is measured, in which unit, and what is hoped for."""

    name: str
    title: str
    unit: str
    group: str
    higher_is_better: bool = True
    goal: Goal | None = None

    @property
    def label(self) -> str:
        """The title with its unit."""
        return f"{self.title} ({self.unit})"


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of one run by row, and where it matters how busy the client was."""

    values: dict[str, float]
    client_busy: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class RowResult:
    """All values measured for one row, by contestant."""

    row: Row
    values: dict[str, list[float]] = field(default_factory=dict)
    client_busy: dict[str, list[float]] = field(default_factory=dict)

    def add(self, contestant: str, value: float, client_busy: float | None = None) -> None:
        """Keeps the value of one run, and how busy the client was during it."""
        self.values.setdefault(contestant, []).append(value)
        if client_busy is not None:
            self.client_busy.setdefault(contestant, []).append(client_busy)

    def median(self, contestant: str) -> float | None:
        """The middle of this contestant's runs."""
        values = self.values.get(contestant)
        return median(values) if values else None

    @property
    def ratio(self) -> float | None:
        """ottla's median as a multiple of Kafka's."""
        return ratio(self.median("ottla"), self.median("kafka"))

    @property
    def advantage(self) -> float | None:
        """How many times better ottla is, whichever direction is better."""
        times = self.ratio
        if not times:
            return None
        return times if self.row.higher_is_better else 1 / times

    @property
    def verdict(self) -> Verdict | None:
        """The row's goal against its medians."""
        return judge(self.row.goal, self.median("ottla"), self.median("kafka"))

    @property
    def client_bound(self) -> bool:
        """Whether ottla waited for the client, so that the ratio is only a lower bound."""
        busy = self.client_busy.get("ottla", [])
        return bool(busy) and median(busy) >= CLIENT_BOUND

    def as_json(self) -> dict[str, Any]:
        """Everything a later reader needs, in plain types."""
        contestants = list(self.values)
        goal = self.row.goal
        return {
            "name": self.row.name,
            "title": self.row.title,
            "group": self.row.group,
            "unit": self.row.unit,
            "higher_is_better": self.row.higher_is_better,
            "values": self.values,
            "medians": {name: self.median(name) for name in contestants},
            "ratio": self.ratio,
            "goal": goal.describe(self.row.unit) if goal else None,
            "verdict": str(self.verdict) if self.verdict else None,
            "client_bound": self.client_bound,
            "client_busy": {name: median(busy) for name, busy in self.client_busy.items()},
        }


class Results:
    """The results of a whole comparison, in the order of the rows."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._by_name = {row.name: RowResult(row) for row in rows}

    def add(self, contestant: str, measured: Measured) -> None:
        """Keeps what one run of one scenario measured."""
        for name, value in measured.values.items():
            self._by_name[name].add(contestant, value, measured.client_busy.get(name))

    def measured(self) -> list[RowResult]:
        """The rows that have at least one value."""
        return [result for result in self._by_name.values() if result.values]
