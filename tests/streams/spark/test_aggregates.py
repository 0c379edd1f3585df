"""Aggregates, on Spark as in the test driver."""

from collections.abc import Callable
from typing import Any

from ottla.streams import SessionWindows, StreamsBuilder, Suppressed, TimeWindows, f
from tests.streams.spark.both_ways import BothWays


def named(window: Any, total: Any) -> tuple[str, Any]:
    return f"{window.key}@{window.start_ms}-{window.end_ms}", total


def test_counts_sums_and_reductions_by_key(both_ways: BothWays) -> None:
    def build(b: StreamsBuilder, topic: Callable[[str], str]) -> None:
        orders = b.stream(topic("orders"), key="string", value="json")
        grouped = orders.group_by_key()
        grouped.count(store="counted").to_stream().to(topic("counts"), key="string", value="long")
        grouped.aggregate(f.struct(total=f.sum(f.value.amount), n=f.count()), store="totals") \
            .to_stream().to(topic("totals"), key="string", value="json")  # fmt: skip
        amounts = orders.map_values(lambda value: value["amount"])
        amounts.group_by(lambda key, value: value % 2, key="int", value="int") \
            .reduce(lambda old, new: old + new).to_stream() \
            .to(topic("parities"), key="int", value="int")  # fmt: skip

    both_ways.build(build, orders=2, counts=2, totals=1, parities=1)
    orders = [(key, {"amount": n}, 1000 + n) for n, key in enumerate("abacabad")]
    both_ways.batch(orders=[*orders, (None, {"amount": 2}, 1)])
    assert both_ways.same("counts", "totals", "parities")
    both_ways.batch(orders=[("a", {"amount": 5}, 10)])
    assert both_ways.same("counts")[b"a"] == [((5).to_bytes(8, "big"), 1006, ())]
    both_ways.same("totals", "parities")
    application = both_ways.restarted()
    assert application.store("counted").get("a") == 5
    assert dict(application.store("totals").all())["b"] == {"total": 6, "n": 2}
    assert application.store("counted").range("b", "c") == [("b", 2), ("c", 1)]
    assert set(application.lag().values()) == {0}


def test_windows_close_and_late_records_are_left_out(both_ways: BothWays) -> None:
    def build(b: StreamsBuilder, topic: Callable[[str], str]) -> None:
        grouped = b.stream(topic("clicks"), key="string", value="json").group_by_key()
        windowed = grouped.windowed_by(TimeWindows(size_ms=10, advance_ms=5, grace_ms=2))
        counts = windowed.count(store="per-window")
        counts.to_stream().map(named).to(topic("updates"), key="string", value="long")
        counts.suppress(Suppressed.until_window_closes()).to_stream().map(named) \
            .to(topic("finals"), key="string", value="long")  # fmt: skip
        sessions = grouped.windowed_by(SessionWindows(gap_ms=5, grace_ms=0))
        sessions.count(store="sessions").to_stream().map(named) \
            .to(topic("sessions"), key="string", value="long")  # fmt: skip

    both_ways.build(build, clicks=1, updates=1, finals=1, sessions=1)
    both_ways.batch(clicks=[("a", 1, 3), ("b", 1, 4), ("a", 1, 12)])
    both_ways.same("updates", "sessions", "finals")
    both_ways.batch(clicks=[("a", 1, 1), ("b", 1, 9), ("c", 1, 40)])
    assert both_ways.same("updates", "sessions", "finals")
    both_ways.batch(clicks=[("a", 1, 12), ("d", 1, 100)])
    assert both_ways.same("finals")
    both_ways.same("updates", "sessions")
    windows = both_ways.restarted().store("per-window").fetch("a", from_ms=5)
    assert [(key.start_ms, key.end_ms, count) for key, count in windows] == [
        (5, 15, 1),
        (10, 20, 1),
    ]
