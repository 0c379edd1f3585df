"""Joins, on Spark as in the test driver."""

from collections.abc import Callable
from typing import Any

from ottla.streams import JoinWindows, StreamsBuilder, f
from tests.streams.spark.both_ways import BothWays


def side_by_side(left: Any, right: Any) -> str:
    return f"{left}+{right}"


def test_a_stream_meets_the_rows_of_a_table(both_ways: BothWays) -> None:
    def build(b: StreamsBuilder, topic: Callable[[str], str]) -> None:
        clicks = b.stream(topic("clicks"), key="string", value="string")
        users = b.table(topic("users"), key="string", value="string")
        clicks.left_join(users, side_by_side).to(topic("seen"), key="string", value="string")
        by_place = clicks.select_key(f.value).join(users, side_by_side)
        by_place.to(topic("places"), key="string", value="string")

    both_ways.build(build, clicks=2, users=2, seen=1, places=1)
    both_ways.batch(
        clicks=[("ann", "home", 10), ("bob", "ann", 20), ("ann", "bob", 40)],
        users=[("ann", "Oslo", 5), ("bob", "Rome", 30), ("ann", "Bonn", 35)],
    )
    assert both_ways.same("seen", "places")
    both_ways.batch(clicks=[("ann", "ann", 50), ("bob", "x", 60)], users=[("ann", None, 45)])
    assert both_ways.same("seen")
    both_ways.same("places")


def test_tables_meet_and_rows_vanish(both_ways: BothWays) -> None:
    def build(b: StreamsBuilder, topic: Callable[[str], str]) -> None:
        left = b.table(topic("left"), key="string", value="string")
        right = b.table(topic("right"), key="string", value="string")
        for kind in ("join", "left_join", "outer_join"):
            joined = getattr(left, kind)(right, side_by_side)
            joined.to_stream().to(topic(kind.replace("_", "")), key="string", value="string")
        groups = left.group_by(lambda key, value: (value, key), key="string", value="string")
        groups.count().to_stream().to(topic("groups"), key="string", value="long")

    both_ways.build(build, left=1, right=2, join=1, leftjoin=1, outerjoin=1, groups=1)
    results = ("join", "leftjoin", "outerjoin", "groups")
    both_ways.batch(
        left=[("a", "1", 10), ("b", "1", 20), ("c", "2", 30)],
        right=[("a", "x", 15), ("d", "y", 16)],
    )
    assert both_ways.same(*results)
    both_ways.batch(left=[("a", None, 40), ("b", "2", 41)], right=[("b", "z", 42), ("d", None, 43)])
    assert both_ways.same(*results)


def test_streams_meet_in_a_window_and_those_that_met_nobody_come_when_it_closes(
    both_ways: BothWays,
) -> None:
    def build(b: StreamsBuilder, topic: Callable[[str], str]) -> None:
        orders = b.stream(topic("orders"), key="string", value="string")
        payments = b.stream(topic("payments"), key="string", value="string")
        windows = JoinWindows(10, grace_ms=5)
        for kind in ("join", "left_join", "outer_join"):
            joined = getattr(orders, kind)(payments, side_by_side, windows)
            joined.to(topic(kind.replace("_", "")), key="string", value="string")

    both_ways.build(build, orders=1, payments=1, join=1, leftjoin=1, outerjoin=1)
    results = ("join", "leftjoin", "outerjoin")
    both_ways.batch(
        orders=[("a", "o1", 10), ("b", "o2", 20), ("a", "o3", 21)],
        payments=[("a", "p1", 15), ("c", "p2", 18)],
    )
    assert both_ways.same(*results)
    both_ways.batch(payments=[("b", "p3", 30), ("z", "p4", 60)])
    assert both_ways.same(*results)
    both_ways.batch(orders=[("z", "o4", 100)])
    assert both_ways.same(*results)
