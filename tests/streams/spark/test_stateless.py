"""Operators without state, on Spark as in the test driver."""

from collections.abc import Callable

from ottla.streams import StreamsBuilder, f
from tests.streams.spark.both_ways import BothWays


def test_filters_maps_branches_and_dead_letters(both_ways: BothWays) -> None:
    def build(b: StreamsBuilder, topic: Callable[[str], str]) -> None:
        orders = b.stream(topic("orders"), key="string", value="json", on_error="dead-letter")
        large = orders.filter(f.value.amount > 50)
        large.map_values(lambda value: {**value, "large": True}).to(
            topic("large"), key="string", value="json"
        )
        words = orders.flat_map_values(lambda value: value["note"].split())
        words.select_key(lambda key, word: word).to(topic("words"), key="string", value="string")

    both_ways.build(build, orders=1, large=2, words=1)
    both_ways.batch(
        orders=[
            ("a", {"amount": 60, "note": "to be"}, 1000, (("h", b"1"),)),
            ("b", {"amount": 40, "note": "or not"}, 500),
            ("a", {"amount": 70, "note": "to be"}, 2000),
            ("c", b"{poison", 3000, (("why", None),)),
            ("d", {"amount": 51}, 4000),
            (None, None, 5000),
        ]
    )
    assert both_ways.same("large").keys() == {b"a", b"d"}
    assert len(both_ways.same("words")) == 4
    assert both_ways.same("dead-letters").keys() == {b"c", b"d", None}
