"""Values of single runs become medians, ratios and verdicts."""

import json

from benchmarks.goals import Goal
from benchmarks.results import Measured, Results, Row, RowResult

SPEED = Row("speed", "speed", "k rec/s", "throughput", goal=Goal(times_at_least=2))
COST = Row("cost", "cost", "s", "broker CPU", higher_is_better=False)


def test_medians_are_compared_not_single_runs() -> None:
    result = RowResult(SPEED)
    for value in (10.0, 300.0, 250.0):
        result.add("ottla", value)
    for value in (100.0, 90.0, 1000.0):
        result.add("kafka", value)

    assert result.ratio == 2.5
    assert str(result.verdict) == "reached"


def test_the_advantage_turns_rows_around_where_less_is_better() -> None:
    result = RowResult(COST, {"ottla": [0.25], "kafka": [1.0]})

    assert result.ratio == 0.25
    assert result.advantage == 4


def test_a_client_that_is_always_busy_makes_the_row_client_bound() -> None:
    result = RowResult(SPEED)
    for busy in (0.99, 0.5, 0.95):
        result.add("ottla", 1.0, busy)

    assert result.client_bound
    assert not RowResult(SPEED, {"ottla": [1.0]}).client_bound


def test_results_keep_the_order_of_the_rows_and_leave_out_the_unmeasured() -> None:
    unmeasured = Row("other", "other", "s", "latency")
    results = Results([SPEED, unmeasured, COST])

    results.add("kafka", Measured({"cost": 1.0}))
    results.add("ottla", Measured({"cost": 0.5, "speed": 7.0}, {"speed": 0.9}))

    assert [result.row for result in results.measured()] == [SPEED, COST]
    assert results.measured()[0].client_busy == {"ottla": [0.9]}
    assert results.measured()[1].client_busy == {}


def test_a_result_survives_json() -> None:
    result = RowResult(SPEED, {"ottla": [150.0, 170.0], "kafka": [100.0, 100.0]})

    read = json.loads(json.dumps(result.as_json()))

    assert read["values"]["ottla"] == [150.0, 170.0]
    assert read["medians"] == {"ottla": 160.0, "kafka": 100.0}
    assert (read["ratio"], read["goal"], read["verdict"]) == (1.6, "≥ 2x", "short by 20%")
