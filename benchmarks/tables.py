"""Pure: results as a table for the terminal and as a Markdown fragment for the README."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from benchmarks.results import RowResult

HEADINGS = ("", "ottla", "Kafka", "ratio", "goal", "")


def number(value: float | None) -> str:
    """Three significant digits, thousands separated; a dash for what was not measured."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3f}"


def cells(result: RowResult) -> tuple[str, ...]:
    """One row of the table as text."""
    row = result.row
    ratio = result.ratio
    return (
        row.label,
        number(result.median("ottla")),
        number(result.median("kafka")),
        "-" if ratio is None else f"{number(ratio)}x",
        row.goal.describe(row.unit) if row.goal else "",
        _remark(result),
    )


def _remark(result: RowResult) -> str:
    parts = [str(result.verdict)] if result.verdict else []
    if result.client_bound:
        parts.append("client-bound")
    return ", ".join(parts)


def terminal_table(results: Iterable[RowResult]) -> str:
    """Aligned columns, one block for each group of rows."""
    grouped = [(group, list(rows)) for group, rows in groupby(results, lambda r: r.row.group)]
    lines = [cells(result) for _, rows in grouped for result in rows]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *lines, strict=True)]
    out = [_aligned(HEADINGS, widths)]
    for group, rows in grouped:
        out += ["", group, *(_aligned(cells(result), widths) for result in rows)]
    return "\n".join(out) + "\n"


def _aligned(texts: Sequence[str], widths: Sequence[int]) -> str:
    first, *middle, last = zip(texts, widths, strict=True)
    numbers = (text.rjust(width) for text, width in middle)
    return "  ".join([first[0].ljust(first[1]), *numbers, last[0]]).rstrip()


def markdown(results: Sequence[RowResult], facts: Mapping[str, str], plot: str) -> str:
    """The fragment for the README: where and when, the table, the plot."""
    about = "; ".join(f"{name} {value}" for name, value in facts.items())
    lines = [f"Measured with `make bench`: {about}.", ""]
    lines += ["| | ottla | Kafka | ratio | goal | |", "|---|---:|---:|---:|---:|---|"]
    for group, rows in groupby(results, lambda result: result.row.group):
        lines.append(f"| **{group}** | | | | | |")
        lines += [f"| {' | '.join(cells(result))} |" for result in rows]
    return "\n".join([*lines, "", f"![ratio to Apache Kafka by row]({plot})", ""])


def summary(results: Sequence[RowResult]) -> str:
    """One sentence on the goals."""
    verdicts = [result.verdict for result in results if result.verdict]
    reached = sum(verdict.reached for verdict in verdicts)
    return f"{reached} of {len(verdicts)} goals reached"
