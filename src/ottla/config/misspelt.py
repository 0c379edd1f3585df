"""Pure: names that are nearly those of settings. A broker must not start with the default of what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MOST_EDITS: Final = 2


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is two edits or fewer away, the nearest of several; None if there is none.

    No name of a setting of Apache Kafka, from 0.8 to 4.3, is that near to another one that is served here.
    """
    lowered = name.lower()
    near = [
        (edits(lowered, each), each) for each in known if abs(len(each) - len(name)) <= MOST_EDITS
    ]
    distance, nearest = min(near, default=(MOST_EDITS + 1, ""))
    return nearest if distance <= MOST_EDITS else None


def edits(left: str, right: str) -> int:
    """Return how many letters must be put in, taken out or replaced (Levenshtein's distance)."""
    row = list(range(len(right) + 1))
    for index, letter in enumerate(left, 1):
        before, row = row, [index]
        for column, other in enumerate(right, 1):
            replaced = before[column - 1] + (letter != other)
            row.append(min(before[column] + 1, row[-1] + 1, replaced))
    return row[-1]
