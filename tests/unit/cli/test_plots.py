"""Small plots of characters."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ottla.cli.plots import histogram, percentile, sparkline


def test_percentiles() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, p) for p in (50, 99, 99.9, 100)] == [50, 99, 100, 100]
    assert math.isnan(percentile([], 50))


def test_a_sparkline_is_as_long_as_its_values() -> None:
    assert sparkline([1, 4, 8]) == "▁▄█"
    assert sparkline([1, 8], ascii_only=True).isascii()
    assert sparkline([0, 0]) == "  "


@given(st.lists(st.floats(0.001, 10_000), min_size=1, max_size=50))
def test_a_histogram_counts_every_value(values: list[float]) -> None:
    lines = histogram(values, "ms", ascii_only=True)
    shares = [float(line.split()[-1].rstrip("%")) for line in lines]
    assert abs(sum(shares) - 100) <= len(lines) * 0.05 + 1e-6
    assert "<=" in lines[0]
