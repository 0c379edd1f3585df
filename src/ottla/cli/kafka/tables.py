"""Pure: columns as Kafka's tools align them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

MISSING: Final = "-"
"""Stands for a value that is not known."""


def text(value: object) -> str:
    """A cell; what is None is missing."""
    return MISSING if value is None else str(value)


def lines(widths: Sequence[int], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows whose cells fill the widths and grow with the longest, one blank between; 0 pads nothing.

    A negative width stays as it is: longer cells push the rest of their line to the right.
    """
    cells = [[text(value) for value in row] for row in rows]
    grown = [
        max(width, *(len(row[n]) for row in cells)) if width > 0 else -width
        for n, width in enumerate(widths)
    ]
    return [
        " ".join(cell.ljust(width) for cell, width in zip(row, grown, strict=True)) for row in cells
    ]
