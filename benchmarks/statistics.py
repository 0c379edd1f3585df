"""Pure: medians, percentiles and ratios of measured values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

__all__ = ["median", "percentile", "ratio"]


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: the smallest value that `percent` of all do not exceed."""
    if not values:
        raise ValueError("no values, so no percentile")
    ordered = sorted(values)
    rank = math.ceil(len(ordered) * percent / 100)
    return ordered[max(rank, 1) - 1]


def ratio(ottla: float | None, kafka: float | None) -> float | None:
    """ottla's value as a multiple of Kafka's, where both are known."""
    if ottla is None or not kafka:
        return None
    return ottla / kafka
