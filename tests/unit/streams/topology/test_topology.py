"""A topology knows its nodes' children, its stores, and where topics cut it into sub-topologies."""

from ottla.streams.topology.aggregations import Aggregate
from ottla.streams.topology.node import Node
from ottla.streams.topology.processing import Repartition
from ottla.streams.topology.sources import StreamSource, TableSource
from ottla.streams.topology.stateless import Merge, SelectKey
from ottla.streams.topology.stores import Store
from ottla.streams.topology.topology import Topology


def stream(name: str) -> StreamSource:
    return StreamSource(name=name, parents=(), topics=(name,))


def counted(name: str, parent: Node) -> Aggregate:
    return Aggregate(
        name=name, parents=(parent,), kind="count", store=Store(f"{name}-store", "key-value")
    )


def test_an_internal_topic_cuts_a_topology_in_two() -> None:
    orders = stream("orders")
    keyed = SelectKey(name="by-customer", parents=(orders,), selector=lambda key, value: value)
    topic = Repartition(
        name="topic", parents=(keyed,), topic="per-customer", sink_name="sink", source_name="source"
    )
    totals = counted("totals", topic)
    topology = Topology((orders, keyed, topic, totals))
    assert [part.nodes for part in topology.sub_topologies] == [(orders, keyed, topic), (totals,)]
    assert topology.children[orders] == (keyed,)
    assert list(topology.stores) == ["totals-store"]


def test_what_is_merged_later_is_one_sub_topology() -> None:
    left, middle, right = stream("left"), stream("middle"), stream("right")
    counts = counted("counts", middle)
    merged = Merge(name="merged", parents=(left, right))
    topology = Topology((left, middle, right, counts, merged))
    assert [part.nodes for part in topology.sub_topologies] == [
        (left, right, merged),
        (middle, counts),
    ]


def test_nodes_that_share_a_store_share_its_partitions() -> None:
    store = Store("shared", "key-value")
    first = TableSource(name="first", parents=(), topic="a", source_name="a", store=store)
    second = TableSource(name="second", parents=(), topic="b", source_name="b", store=store)
    assert len(Topology((first, second)).sub_topologies) == 1
