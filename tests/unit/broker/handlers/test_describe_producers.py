"""DescribeProducers: who has written to a partition with sequence numbers."""

import time

from ottla.protocol.apis.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import NOW_MS, Client


def producers(client: Client, topic: str, *indexes: int) -> list[PartitionResponse]:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=list(indexes))]
    )
    [answered] = client.ask(request).topics
    assert answered.name == topic
    return answered.partitions


def test_an_idempotent_producer_is_listed_with_its_last_sequence(client: Client) -> None:
    topic = client.new_topic()
    producer_id = client.new_producer_id()
    before = int(time.time() * 1000)
    client.produce(topic, producer_id=producer_id, producer_epoch=0, base_sequence=0)
    client.produce(
        topic, NOW_MS, NOW_MS, producer_id=producer_id, producer_epoch=0, base_sequence=1
    )
    [partition] = producers(client, topic, 0)
    [producer] = partition.active_producers
    assert (producer.producer_id, producer.producer_epoch) == (producer_id, 0)
    assert producer.last_sequence == 2
    assert before <= producer.last_timestamp <= int(time.time() * 1000)
    assert producer.current_txn_start_offset == -1


def test_plain_producers_are_not_remembered(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic)
    [partition] = producers(client, topic, 0)
    assert (partition.error_code, partition.active_producers) == (ErrorCode.NONE, [])


def test_unknown_partitions_are_told(client: Client) -> None:
    known, unknown = producers(client, client.new_topic(), 0, 1)
    assert known.error_code == ErrorCode.NONE
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    [impossible] = producers(client, "a/b", 0)
    assert impossible.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
