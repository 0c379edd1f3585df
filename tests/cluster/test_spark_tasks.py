"""A Spark task that reads a partition whose leader dies goes on with the next leader."""

import pytest

from ottla.base.ids import TopicPartition
from ottla.pipeline.reading import Reading, read_range
from ottla.pipeline.source_ranges import Range
from tests.support.clients import create_topic, produce
from tests.support.cluster import MakeCluster

pytestmark = pytest.mark.java

RECORDS = 50


def test_a_read_outlives_the_leader(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(3)
    topic = create_topic(cluster.bootstrap, replicas=3)
    values = [b"%d" % n for n in range(RECORDS)]
    produce(cluster.bootstrap, topic, values, acks="all", batch_num_messages=1)
    cluster.wait_until_in_sync(topic)
    client = {"bootstrap.servers": cluster.bootstrap, "max.partition.fetch.bytes": "1"}
    whole = Range(TopicPartition(topic, 0), 0, RECORDS)
    batches = read_range(whole, Reading(client, False, False, True, 60_000))
    found = [next(batches)]
    cluster.brokers[cluster.leader(topic)].kill()
    found += batches
    assert [value for batch in found for value in batch.column("value").to_pylist()] == values
