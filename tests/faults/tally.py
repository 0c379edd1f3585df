"""What came of many runs: counted for each fault, kept in a file, added to it later, and told as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tests.faults.one import Result

Tally = dict[str, list[Result]]
"""The runs of each fault, in the order in which they ended."""
HEADER = ("fault", "runs", "strikes", "operations", "seconds", "longest gap (s)", "anomalies")


def load(path: Path | None, names: Iterable[str]) -> Tally:
    """The runs of these faults that a file tells of; none, if there is no such file, or not yet."""
    told = json.loads(path.read_text()) if path is not None and path.exists() else {}
    return {name: [Result(**each) for each in told.get(name, ())] for name in names}


def save(path: Path, tally: Tally) -> None:
    """Keep it; what a run that kept every promise has to tell at length is left out."""
    told = {
        name: [asdict(replace(each, report="") if each.valid else each) for each in results]
        for name, results in tally.items()
        if results
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(told, indent=1) + "\n")
    new.replace(path)


def next_seed(results: Sequence[Result], first: int) -> int:
    """A seed that none of these runs had."""
    return max((each.seed + 1 for each in results), default=first)


def still_to_run(tally: Tally, runs: int, operations: int, seed: int) -> Iterator[tuple[str, int]]:
    """Fault and seed, by turns, until each fault has had so many runs with so many operations."""
    missing = {
        name: runs - sum(each.operations >= operations for each in results)
        for name, results in tally.items()
    }
    for turn in range(runs):
        for name, results in tally.items():
            if turn < missing[name]:
                yield name, next_seed(results, seed) + turn


def is_good(results: Sequence[Result]) -> bool:
    """Whether every run ended, and kept every promise."""
    return all(result.valid or result.skipped for result in results)


def broken(tally: Tally) -> list[str]:
    """The faults under which some run did not keep every promise, or did not end."""
    return [name for name, results in tally.items() if not is_good(results)]


def row(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    """One fault, in the order of the header."""
    ran = [each for each in results if not each.skipped]
    if not ran:
        why = results[0].skipped if results else "not run"
        return name, "0", "", "", "", "", why
    return (
        name,
        str(len(ran)),
        str(sum(each.strikes for each in ran)),
        f"{sum(each.operations for each in ran):,}",
        f"{sum(each.seconds for each in ran):.0f}",
        f"{max(each.longest_gap_ms for each in ran) / 1000:.1f}",
        str(sum(each.anomalies for each in ran)) if is_good(ran) else "BROKEN",
    )


def table(tally: Tally) -> str:
    """What ran, how often and for how long, in Markdown that reads well as it is."""
    rows = [HEADER, *(row(name, results) for name, results in tally.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(map(_padded, each, widths, range(len(widths)))) + " |" for each in rows
    ]
    rule = "|".join(
        "-" * (width + 1) + ("-" if at == 0 else ":") for at, width in enumerate(widths)
    )
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _padded(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column == 0 else cell.rjust(width)


def total(tally: Tally) -> str:
    """All of it in a sentence."""
    ran = [each for results in tally.values() for each in results if not each.skipped]
    operations = sum(each.operations for each in ran)
    hours = sum(each.seconds for each in ran) / 3600
    bad = broken(tally)
    said = f"broken: {', '.join(bad)}" if bad else "every promise was kept"
    return f"{len(ran)} runs, {operations:,} operations, {hours:.1f} hours of clusters; {said}"
