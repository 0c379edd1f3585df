"""Growth of cost with the number of records, as one number."""

import pytest

from benchmarks.results import Row
from benchmarks.scenarios.spark import on_both, steepest


def test_a_straight_line_is_one() -> None:
    assert steepest([0.1, 1.0, 10.0]) == pytest.approx(1.0)


def test_what_every_run_costs_makes_large_ones_cheaper() -> None:
    assert steepest([1.1, 2.0, 11.0]) == pytest.approx(0.55)


def test_one_steep_step_is_enough() -> None:
    assert steepest([0.1, 1.0, 20.0]) == pytest.approx(2.0)


def test_every_row_has_its_twin_on_one_broker() -> None:
    own, shared = on_both(Row("read", "read 100 B", "k rec/s", "Spark"))
    assert (own.name, shared.name) == ("read", "read-on-ottla")
    assert shared.title == "read 100 B, both on ottla"
