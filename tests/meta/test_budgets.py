"""Every directory of tests has a budget of CPU time, and together they are within that of `make test`."""

from pathlib import Path

from tests.support.times import CONTRIBUTING, budgets

TESTS = Path(__file__).parents[1]
TOGETHER_S = 16 * 60


def test_every_directory_with_tests_has_a_budget() -> None:
    found = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert {f"tests/{name}" for name in found} <= set(budgets(CONTRIBUTING))


def test_all_of_them_are_within_the_budget_of_make_test() -> None:
    assert sum(budgets(CONTRIBUTING).values()) <= TOGETHER_S
