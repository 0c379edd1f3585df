"""Tables for the terminal and for the README."""

import pytest

from benchmarks.goals import Goal
from benchmarks.results import Row, RowResult
from benchmarks.tables import markdown, number, summary, terminal_table

SPEED = Row("speed", "produce", "k rec/s", "throughput", goal=Goal(times_at_least=2))
COST = Row("cost", "cost", "s", "broker CPU", higher_is_better=False, goal=Goal(times_at_most=0.25))
RESULTS = [
    RowResult(SPEED, {"ottla": [1500.0], "kafka": [500.0]}, {"ottla": [0.99]}),
    RowResult(COST, {"ottla": [0.5], "kafka": [1.0]}),
]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0.00"),
        (0.0123, "0.012"),
        (1.234, "1.23"),
        (42.42, "42.4"),
        (1e6, "1,000,000"),
    ],
)
def test_numbers_show_about_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_the_terminal_table_aligns_columns_under_each_group() -> None:
    assert terminal_table(RESULTS).splitlines() == [
        "                   ottla  Kafka  ratio     goal",
        "",
        "throughput",
        "produce (k rec/s)  1,500    500  3.00x     ≥ 2x  reached, client-bound",
        "",
        "broker CPU",
        "cost (s)            0.50   1.00  0.50x  ≤ 0.25x  short by 100%",
    ]


def test_the_markdown_fragment_says_when_and_where_and_shows_the_plot() -> None:
    text = markdown(RESULTS, {"date": "2026-01-01", "CPU": "Abacus, 2 cores"}, "results/plot.png")

    assert "date 2026-01-01; CPU Abacus, 2 cores" in text
    assert "| **throughput** | | | | | |" in text
    assert "| cost (s) | 0.50 | 1.00 | 0.50x | ≤ 0.25x | short by 100% |" in text
    assert "(results/plot.png)" in text


def test_the_summary_counts_only_rows_with_a_goal_that_could_be_judged() -> None:
    alone = RowResult(SPEED, {"ottla": [1.0]})

    assert summary([*RESULTS, alone]) == "1 of 2 goals reached"
