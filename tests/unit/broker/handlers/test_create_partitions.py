"""CreatePartitions: topics grow, and never shrink."""

import pytest

from ottla.protocol.apis.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from ottla.protocol.apis.metadata import MetadataRequest
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client


def grow(
    client: Client, *topics: CreatePartitionsTopic, version: int = 3, **options: bool
) -> list[CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=10_000, **options)
    return client.ask(request, version).results


def to(name: str, count: int, brokers: list[int] | None = None) -> CreatePartitionsTopic:
    assignments = None
    if brokers is not None:
        assignments = [CreatePartitionsAssignment(broker_ids=[broker]) for broker in brokers]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments)


@pytest.mark.parametrize("version", range(4))
def test_a_topic_grows(client: Client, version: int) -> None:
    name = client.new_topic()
    [result] = grow(client, to(name, 3), version=version)
    assert (result.name, result.error_code, result.error_message) == (name, 0, None)
    wait_for(lambda: client.is_led(name, 3), "three partitions")
    assert client.produce(name, partition=2) == 0


def test_new_partitions_may_be_placed_by_hand(client: Client) -> None:
    [broker] = client.ask(MetadataRequest(topics=[])).brokers
    name = client.new_topic()
    [result] = grow(client, to(name, 3, [broker.node_id] * 2))
    assert result.error_code == ErrorCode.NONE
    wait_for(lambda: client.is_led(name, 3), "three partitions")


def test_what_is_only_validated_does_not_grow(client: Client) -> None:
    name = client.new_topic()
    [result] = grow(client, to(name, 3), validate_only=True)
    assert result.error_code == ErrorCode.NONE
    assert client.is_led(name, 1)


@pytest.mark.parametrize(
    ("count", "brokers", "error"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (3, [77], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_one_bad_topic_is_told_and_the_others_grow(
    client: Client, count: int, brokers: list[int] | None, error: int
) -> None:
    bad, good = client.new_topic(partitions=2), client.new_topic()
    results = {r.name: r for r in grow(client, to(bad, count, brokers), to(good, 2))}
    assert results[bad].error_code == error
    assert results[bad].error_message
    assert results[good].error_code == ErrorCode.NONE


def test_unknown_and_repeated_topics_are_refused(client: Client) -> None:
    [unknown] = grow(client, to("no-such-topic", 3))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    name = client.new_topic()
    [twice] = grow(client, to(name, 2), to(name, 3))
    assert twice.error_code == ErrorCode.INVALID_REQUEST
