"""DescribeReplicas: how far replicas are; of those that nobody leads see tests/cluster/test_outage.py."""

import pytest

from ottla.protocol.apis.describe_replicas import AskedTopic, DescribeReplicasRequest
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import batch, produce

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_named_partitions_are_told_and_unknown_ones_left_out(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"one", b"two"))
    asked = [AskedTopic(name=topic, partitions=[0, 9]), AskedTopic(name="nobody", partitions=[0])]
    [found] = client.ask(DescribeReplicasRequest(topics=asked)).topics
    [partition] = found.partitions
    [replica] = partition.replicas
    assert (found.name, partition.partition, replica.is_registered) == (topic, 0, True)
    assert (replica.last_epoch, replica.end_offset) == (0, 2)


def test_without_names_only_those_that_nobody_leads(client: Client) -> None:
    client.new_topic()
    answer = client.ask(DescribeReplicasRequest(topics=None))
    assert (answer.error_code, answer.topics) == (0, [])
