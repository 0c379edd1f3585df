"""Goals are bounds on the ratio, on the value, or on both."""

import pytest

from benchmarks.goals import Goal, judge


@pytest.mark.parametrize(
    ("goal", "ottla", "kafka", "verdict"),
    [
        (Goal(times_at_least=2), 200.0, 100.0, "reached"),
        (Goal(times_at_least=2), 150.0, 100.0, "short by 25%"),
        (Goal(times_at_most=0.25), 0.2, 1.0, "reached"),
        (Goal(times_at_most=0.25), 0.5, 1.0, "short by 100%"),
        (Goal(at_most=80), 79.0, None, "reached"),
        (Goal(at_most=80), 88.0, None, "short by 10%"),
        (Goal(times_at_most=0.1, at_most=0.5), 0.3, 5.0, "reached"),
        (Goal(times_at_most=0.1, at_most=0.5), 0.6, 5.0, "short by 20%"),
    ],
)
def test_a_verdict_says_how_far_off_the_row_is(
    goal: Goal, ottla: float, kafka: float | None, verdict: str
) -> None:
    assert str(judge(goal, ottla, kafka)) == verdict


def test_what_was_not_measured_is_not_judged() -> None:
    assert judge(None, 1.0, 1.0) is None
    assert judge(Goal(times_at_least=2), None, 1.0) is None
    assert judge(Goal(times_at_least=2), 1.0, None) is None


def test_a_goal_describes_itself_in_the_unit_of_its_row() -> None:
    assert Goal(times_at_least=1.2).describe("MB/s") == "≥ 1.2x"
    assert Goal(times_at_most=0.1, at_most=0.5).describe("s") == "≤ 0.1x, ≤ 0.5 s"
