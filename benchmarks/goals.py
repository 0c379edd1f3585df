"""Pure: what a row should reach, and whether it did."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.statistics import ratio


@dataclass(frozen=True, slots=True)
class Goal:
    """Bounds on the ratio to Kafka, on the value itself, or on both; all must hold."""

    times_at_least: float | None = None
    times_at_most: float | None = None
    at_most: float | None = None

    def describe(self, unit: str) -> str:
        """The goal in a few characters, for a table."""
        parts = []
        if self.times_at_least is not None:
            parts.append(f"≥ {self.times_at_least:g}x")
        if self.times_at_most is not None:
            parts.append(f"≤ {self.times_at_most:g}x")
        if self.at_most is not None:
            parts.append(f"≤ {self.at_most:g} {unit}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a goal was reached, and if not, by what fraction of it the row falls short."""

    reached: bool
    short_by: float = 0.0

    def __str__(self) -> str:
        return "reached" if self.reached else f"short by {self.short_by:.0%}"


def judge(goal: Goal | None, ottla: float | None, kafka: float | None) -> Verdict | None:
    """Compares two medians with a goal; None where there is nothing to judge."""
    if goal is None or ottla is None:
        return None
    times = ratio(ottla, kafka)
    misses = [
        _below(times, goal.times_at_least),
        _above(times, goal.times_at_most),
        _above(ottla, goal.at_most),
    ]
    known = [miss for miss in misses if miss is not None]
    if not known:
        return None
    worst = max(known)
    return Verdict(reached=worst <= 0, short_by=max(worst, 0.0))


def _below(value: float | None, bound: float | None) -> float | None:
    return None if value is None or bound is None else 1 - value / bound


def _above(value: float | None, bound: float | None) -> float | None:
    return None if value is None or bound is None else value / bound - 1
