"""CreateTopics: what is made, what is only checked, and what is refused."""

import uuid

import pytest

from ottla.base.ids import ZERO_ID
from ottla.protocol.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client

VERSIONS = range(2, 8)
DYNAMIC_TOPIC, DEFAULT = 1, 5


def new(**fields: object) -> CreatableTopic:
    fields = {"name": f"new-{uuid.uuid4().hex[:12]}", "num_partitions": 1, **fields}
    return CreatableTopic(**{"replication_factor": 1, **fields})


def create(client: Client, *topics: CreatableTopic, version: int = 7, **options: bool):
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, **options)
    return client.ask(request, version).topics


def partitions_of(client: Client, name: str) -> int:
    topics = [MetadataRequestTopic(name=name)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    return len(client.ask(request).topics[0].partitions)


def only(results: list[CreatableTopicResult]) -> CreatableTopicResult:
    [result] = results
    return result


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_made(client: Client, version: int) -> None:
    topic = new(num_partitions=3)
    result = only(create(client, topic, version=version))
    assert (result.name, result.error_code, result.error_message) == (topic.name, 0, None)
    assert (result.topic_id != ZERO_ID) == (version >= 7)
    assert result.num_partitions == (3 if version >= 5 else -1)
    assert result.replication_factor == (1 if version >= 5 else -1)
    wait_for(lambda: partitions_of(client, topic.name) == 3, "the topic")


@pytest.mark.parametrize("validate_only", [False, True])
def test_the_settings_of_the_new_topic_come_with_it(client: Client, validate_only: bool) -> None:
    topic = new(configs=[CreatableTopicConfig(name="retention.ms", value="1000")])
    result = only(create(client, topic, validate_only=validate_only))
    settings = {row.name: row for row in result.configs}
    assert settings["retention.ms"].value == "1000"
    assert settings["retention.ms"].config_source == DYNAMIC_TOPIC
    assert settings["cleanup.policy"].value == "delete"
    assert settings["cleanup.policy"].config_source == DEFAULT
    assert not any(row.read_only or row.is_sensitive for row in result.configs)


def test_counts_of_minus_one_are_the_brokers(client: Client) -> None:
    result = only(create(client, new(num_partitions=-1, replication_factor=-1)))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 4, 1)


def test_replicas_may_be_placed_by_hand(client: Client) -> None:
    [broker] = client.ask(MetadataRequest(topics=[])).brokers
    assignments = [
        CreatableReplicaAssignment(partition_index=n, broker_ids=[broker.node_id]) for n in (1, 0)
    ]
    topic = new(num_partitions=-1, replication_factor=-1, assignments=assignments)
    result = only(create(client, topic))
    assert (result.error_code, result.num_partitions) == (0, 2)


def test_what_is_only_validated_is_not_made(client: Client) -> None:
    topic = new(num_partitions=5)
    result = only(create(client, topic, validate_only=True))
    assert (result.error_code, result.num_partitions) == (0, 5)
    assert partitions_of(client, topic.name) == 0


BAD_SETTING = [CreatableTopicConfig(name="no.such.setting", value="1")]
BAD_VALUE = [CreatableTopicConfig(name="retention.ms", value="soon")]
NO_VALUE = [CreatableTopicConfig(name="retention.ms", value=None)]
NOWHERE = [CreatableReplicaAssignment(partition_index=0, broker_ids=[77])]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"name": "a/b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": ""}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"num_partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"num_partitions": -2}, ErrorCode.INVALID_PARTITIONS),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 3}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"configs": BAD_SETTING}, ErrorCode.INVALID_CONFIG),
        ({"configs": BAD_VALUE}, ErrorCode.INVALID_CONFIG),
        ({"configs": NO_VALUE}, ErrorCode.INVALID_CONFIG),
        ({"assignments": NOWHERE}, ErrorCode.INVALID_REQUEST),
        (
            {"num_partitions": -1, "replication_factor": -1, "assignments": NOWHERE},
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
def test_one_bad_topic_is_told_and_the_others_are_made(
    client: Client, fields: dict[str, object], error: int, validate_only: bool
) -> None:
    bad, good = new(**fields), new()
    results = create(client, bad, good, validate_only=validate_only)
    by_name = {result.name: result for result in results}
    assert by_name[bad.name].error_code == error
    assert by_name[bad.name].error_message
    assert by_name[good.name].error_code == ErrorCode.NONE


def test_a_topic_that_exists_is_not_made_again(client: Client) -> None:
    result = only(create(client, new(name=client.new_topic())))
    assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_topic_asked_for_twice_is_not_made_at_all(client: Client) -> None:
    topic = new()
    result = only(create(client, topic, topic))
    assert (result.name, result.error_code) == (topic.name, ErrorCode.INVALID_REQUEST)
    assert partitions_of(client, topic.name) == 0


def test_more_partitions_than_can_be_made_at_once_are_refused(client: Client) -> None:
    result = only(create(client, new(num_partitions=2_000_000_000)))
    assert result.error_code == ErrorCode.POLICY_VIOLATION
