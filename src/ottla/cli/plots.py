"""Pure: small plots of characters, and the percentiles that they show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

PERCENTILES: Final = (50.0, 95.0, 99.0, 99.9)
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_ASCII: Final = " .:-=+*#@"
_STEPS_OF_A_DECADE: Final = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.4, 8.0)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value that so many percent of the ordered values do not exceed."""
    if not ordered:
        return math.nan
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)]


def sparkline(values: Sequence[float], *, ascii_only: bool = False) -> str:
    """One character for each value, as high as it is."""
    marks = _ASCII if ascii_only else _BLOCKS
    top = max(values, default=0.0)
    if top <= 0:
        return marks[0] * len(values)
    return "".join(marks[max(1, round(value / top * (len(marks) - 1)))] for value in values)


def histogram(
    values: Sequence[float], unit: str, *, width: int = 40, ascii_only: bool = False
) -> list[str]:
    """How many values lie in ranges that grow with the values; one line for each range."""
    if not values:
        return []
    bounds = _bounds(min(values), max(values))
    counts = [0] * len(bounds)
    for value in values:
        counts[next(n for n, bound in enumerate(bounds) if value <= bound)] += 1
    most, mark = max(counts), "#" if ascii_only else "█"
    digits = max(len(f"{bound:g}") for bound in bounds)
    return [
        f"<= {bound:>{digits}g} {unit}  {mark * round(count / most * width):<{width}}  "
        f"{count / len(values):6.1%}"
        for bound, count in zip(bounds, counts, strict=True)
    ]


def _bounds(lowest: float, highest: float) -> list[float]:
    decade = math.floor(math.log10(max(lowest, 1e-9)))
    found: list[float] = []
    while not found or found[-1] < highest:
        found += [step * 10.0**decade for step in _STEPS_OF_A_DECADE]
        decade += 1
    first = next(n for n, bound in enumerate(found) if bound >= lowest)
    last = next(n for n, bound in enumerate(found) if bound >= highest)
    return found[first : last + 1]
