"""Draws how many times better ottla is than Kafka, row by row, with the goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

from benchmarks.results import RowResult

matplotlib.use("Agg")
from matplotlib import pyplot

BETTER, WORSE, GOAL = "#2a7f62", "#b5523b", "#222222"


def draw(results: Sequence[RowResult], facts: Mapping[str, str], path: Path) -> None:
    """Writes the plot; rows that one broker alone was measured on are left out."""
    compared = [result for result in results if result.advantage is not None]
    if not compared:
        return
    figure, axes = pyplot.subplots(figsize=(11, 1.5 + 0.3 * len(compared)), layout="constrained")
    for position, result in enumerate(reversed(compared)):
        advantage, goal = result.advantage or 1.0, _goal_advantage(result)
        colour = BETTER if advantage >= 1 else WORSE
        axes.barh(position, advantage - 1, left=1, color=colour)
        axes.annotate(
            f"{advantage:.2g}x",
            (max(advantage, goal or 1, 1), position),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
        if goal is not None:
            axes.plot([goal, goal], [position - 0.4, position + 0.4], color=GOAL, linewidth=1.5)
    axes.set_yticks(range(len(compared)), [result.row.label for result in reversed(compared)])
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(x=0.1, y=0.01)
    axes.set_xlabel("times better than Apache Kafka (a line marks the goal)")
    axes.set_title(f"ottla and Apache Kafka {facts['Apache Kafka']}, {facts['date']}", fontsize=10)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _goal_advantage(result: RowResult) -> float | None:
    """The goal on the scale of the plot, if it is a bound on the ratio."""
    goal = result.row.goal
    if goal is None:
        return None
    if goal.times_at_least is not None:
        return goal.times_at_least
    return 1 / goal.times_at_most if goal.times_at_most is not None else None
