"""What a client knows of a cluster after each answer."""

from __future__ import annotations

from ottla.client.view import Node, View, updated
from ottla.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.errors import ErrorCode


def topic(name: str | None, *leaders: int, code: int = 0) -> MetadataResponseTopic:
    partitions = [
        MetadataResponsePartition(partition_index=n, leader_id=leader, isr_nodes=[leader])
        for n, leader in enumerate(leaders)
    ]
    # Brokers need not name partitions in order.
    return MetadataResponseTopic(name=name, error_code=code, partitions=partitions[::-1])


def told(*topics: MetadataResponseTopic, nodes: int = 2) -> MetadataResponse:
    brokers = [
        MetadataResponseBroker(node_id=n, host=f"host-{n}", port=9092) for n in range(1, nodes + 1)
    ]
    return MetadataResponse(brokers=brokers, controller_id=2, cluster_id="c", topics=list(topics))


def test_an_answer_replaces_the_brokers_and_adds_to_the_topics() -> None:
    view = updated(View(), told(topic("a", 1, 2)), complete=False)
    view = updated(view, told(topic("b", 1), nodes=1), complete=False)
    assert dict(view.brokers) == {1: Node(1, "host-1", 9092)}
    assert (view.controller_id, view.cluster_id) == (2, "c")
    assert [(p.index, p.leader, p.isr) for p in view.topics["a"].partitions] == [
        (0, 1, (1,)),
        (1, 2, (2,)),
    ]
    assert sorted(updated(view, told(topic("b", 1)), complete=True).topics) == ["b"]


def test_partitions_are_found_by_number() -> None:
    view = updated(View(), told(topic("a", 1, 2), topic(None)), complete=True)
    found = view.partition("a", 1)
    assert found is not None
    assert found.leader == 2
    assert view.partition("a", 2) is None
    assert view.partition("b", 0) is None


def test_a_topic_that_is_gone_or_forbidden_keeps_what_the_broker_said() -> None:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    view = updated(View(), told(topic("mine", code=code)), complete=False)
    assert view.topics["mine"].error == code
    assert view.why_no_leader("mine", 0).code == code
