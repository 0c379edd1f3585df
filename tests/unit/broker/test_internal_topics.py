"""The topics of the coordinators have Kafka's settings."""

from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client

TOPIC = 2
SETTINGS = {
    "offsets.topic.num.partitions": "7",
    "offsets.topic.segment.bytes": "2000000",
    "transaction.state.log.num.partitions": "3",
}
GROUPS = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": "2000000",
}
TRANSACTIONS = {
    "cleanup.policy": "compact",
    "compression.type": "uncompressed",
    "min.insync.replicas": "1",
}
WANTED = [(0, "__consumer_offsets", 7, GROUPS), (1, "__transaction_state", 3, TRANSACTIONS)]


@pytest.mark.parametrize(("key_type", "topic", "partitions", "configs"), WANTED)
def test_it_is_made_when_it_is_first_asked_for(
    own_broker: Callable[..., OttlaBroker],
    key_type: int,
    topic: str,
    partitions: int,
    configs: dict[str, str],
) -> None:
    with closing(Client(own_broker(SETTINGS).bootstrap)) as client:
        assert client.ask(MetadataRequest(topics=None)).topics == []
        client.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"]))
        [made] = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)])).topics
        assert (len(made.partitions), made.is_internal) == (partitions, True)
        asked = DescribeConfigsResource(resource_type=TOPIC, resource_name=topic)
        [found] = client.ask(DescribeConfigsRequest(resources=[asked])).results
        values = {each.name: each.value for each in found.configs}
        assert {name: values[name] for name in configs} == configs


def test_one_that_cannot_be_made_is_told_of_in_the_log(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker({"offsets.topic.segment.bytes": "16384"})
    with closing(Client(broker.bootstrap)) as client:
        for _ in range(3):
            client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["k"]))
    told = [line for line in broker.log.splitlines() if "cannot be made" in line]
    assert len(told) == 1
    assert "segment.bytes" in told[0]
