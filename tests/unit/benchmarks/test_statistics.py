"""Percentiles and ratios of measured values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics import percentile, ratio

VALUES = st.lists(st.floats(0, 1e6), min_size=1)


def test_the_percentile_of_a_hundred_values_is_the_value_at_that_rank() -> None:
    values = [float(number) for number in range(100, 0, -1)]

    assert percentile(values, 50) == 50
    assert percentile(values, 99) == 99
    assert percentile(values, 100) == 100


@given(VALUES, st.floats(0.1, 100))
def test_a_percentile_is_one_of_the_values_and_bounds_its_share(
    values: list[float], percent: float
) -> None:
    found = percentile(values, percent)

    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 99)


def test_a_ratio_needs_both_values() -> None:
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(None, 2.0) is None
    assert ratio(3.0, None) is None
    assert ratio(3.0, 0.0) is None
