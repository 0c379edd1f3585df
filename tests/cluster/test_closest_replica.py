"""Consumers are sent to a replica in their own rack, and those who come to the wrong broker to the leader."""

from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from ottla.protocol.apis.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.errors import ErrorCode
from tests.support.clients import create_topic, produce, read_to_end
from tests.support.cluster import Cluster, MakeCluster
from tests.unit.broker.handlers.asking import Client

pytestmark = [pytest.mark.compat, pytest.mark.java]

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RECORDS = 100


def fetch(cluster: Cluster, broker: int, topic: str, rack: str, offset: int = 0) -> Any:
    """What a broker answers a consumer of that rack, about partition 0."""
    with closing(Client(cluster.brokers[broker].bootstrap)) as client:
        [found] = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)])).topics
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            rack_id=rack, topics=[FetchTopic(topic_id=found.topic_id, partitions=[wanted])]
        )
        response = client.ask(request)
    return response, response.responses[0].partitions[0]


@pytest.fixture
def racks(make_cluster: MakeCluster) -> tuple[Cluster, str, int, int]:
    """A cluster whose brokers stand in racks of their own, a filled topic, its leader and a follower."""
    cluster = make_cluster(2, replica_selector_class=SELECTOR)
    topic = create_topic(cluster.bootstrap, replicas=2, min_insync_replicas=2)
    produce(cluster.bootstrap, topic, [{"value": b"%d" % n} for n in range(RECORDS)], acks="all")
    leader = cluster.leader(topic)
    return cluster, topic, leader, 3 - leader


def test_a_consumer_reads_from_its_own_rack(racks: tuple[Cluster, str, int, int]) -> None:
    cluster, topic, leader, follower = racks
    _, told = fetch(cluster, leader, topic, f"rack-{follower}")
    assert (told.preferred_read_replica, bytes(told.records or b"")) == (follower, b"")
    _, told = fetch(cluster, leader, topic, f"rack-{leader}")
    assert told.preferred_read_replica == -1
    assert told.records
    _, told = fetch(cluster, follower, topic, f"rack-{follower}")
    assert told.records
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "client.rack": f"rack-{follower}",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(read_to_end(consumer)) == RECORDS
    consumer.close()


def test_a_broker_that_does_not_lead_says_who_does(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(2)
    topic = create_topic(cluster.bootstrap, replicas=1, min_insync_replicas=1)
    leader = cluster.leader(topic)
    response, told = fetch(cluster, 3 - leader, topic, "")
    assert told.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (leader, 0)
    [node] = response.node_endpoints
    assert (node.node_id, node.port) == (leader, cluster.brokers[leader].port)
