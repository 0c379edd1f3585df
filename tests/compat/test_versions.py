"""Every version of every API that the broker advertises is answered in that version's form."""

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol import admin, consumer, metadata, producer
from kafka.protocol.api_message import ApiMessage

from tests.support.clients import create_topic, produce, unique_name
from tests.support.wire import Wire

pytestmark = pytest.mark.compat

TOPIC_RESOURCE = 2
Build = Callable[[type[ApiMessage], str], ApiMessage]


def _list_offsets(kind: Any, topic: str) -> ApiMessage:
    topics = kind.ListOffsetsTopic
    asked = topics.ListOffsetsPartition(partition_index=0, timestamp=-1)
    return kind(isolation_level=0, topics=[topics(name=topic, partitions=[asked])], timeout_ms=5000)


def _leader_epoch(kind: Any, topic: str) -> ApiMessage:
    topics = kind.OffsetForLeaderTopic
    asked = topics.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    return kind(topics=[topics(topic=topic, partitions=[asked])])


def _metadata(kind: Any, topic: str) -> ApiMessage:
    return kind(topics=[kind.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)


def _create_topics(kind: Any, topic: str) -> ApiMessage:
    new = kind.CreatableTopic(
        name=unique_name("v"), num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    return kind(topics=[new], timeout_ms=5000, validate_only=True)


def _delete_topics(kind: Any, topic: str) -> ApiMessage:
    states = [kind.DeleteTopicState(name="no-such-topic")]
    return kind(topics=states, topic_names=["no-such-topic"], timeout_ms=5000)


def _create_partitions(kind: Any, topic: str) -> ApiMessage:
    wider = kind.CreatePartitionsTopic(name=topic, count=2, assignments=None)
    return kind(topics=[wider], timeout_ms=5000, validate_only=True)


def _describe_configs(kind: Any, topic: str) -> ApiMessage:
    resource = kind.DescribeConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name=topic, configuration_keys=["retention.ms"]
    )
    return kind(resources=[resource], include_synonyms=True, include_documentation=True)


def _alter_configs(kind: Any, topic: str) -> ApiMessage:
    resources = kind.AlterConfigsResource
    entry = resources.AlterableConfig(name="retention.ms", value="1000")
    resource = resources(resource_type=TOPIC_RESOURCE, resource_name=topic, configs=[entry])
    return kind(resources=[resource], validate_only=True)


def _delete_records(kind: Any, topic: str) -> ApiMessage:
    topics = kind.DeleteRecordsTopic
    asked = topics.DeleteRecordsPartition(partition_index=0, offset=0)
    return kind(topics=[topics(name=topic, partitions=[asked])], timeout_ms=5000)


def _log_dirs(kind: Any, topic: str) -> ApiMessage:
    return kind(topics=[kind.DescribableLogDirTopic(topic=topic, partitions=[0])])


def _producers(kind: Any, topic: str) -> ApiMessage:
    return kind(topics=[kind.TopicRequest(name=topic, partition_indexes=[0])])


# What to send, what of the answer to look at, and the number that must stand there.
CASES: list[tuple[type[ApiMessage], Build, Callable[[Any], list[int]], int]] = [
    (
        consumer.ListOffsetsRequest,
        _list_offsets,
        lambda r: [r.topics[0].partitions[0].error_code, r.topics[0].partitions[0].offset - 3],
        0,
    ),
    (
        consumer.OffsetForLeaderEpochRequest,
        _leader_epoch,
        lambda r: [r.topics[0].partitions[0].error_code, r.topics[0].partitions[0].end_offset - 3],
        0,
    ),
    (metadata.MetadataRequest, _metadata, lambda r: [r.topics[0].error_code], 0),
    (admin.CreateTopicsRequest, _create_topics, lambda r: [r.topics[0].error_code], 0),
    (admin.DeleteTopicsRequest, _delete_topics, lambda r: [r.responses[0].error_code], 3),
    (admin.CreatePartitionsRequest, _create_partitions, lambda r: [r.results[0].error_code], 0),
    (
        admin.DescribeConfigsRequest,
        _describe_configs,
        lambda r: [r.results[0].error_code, len(r.results[0].configs) - 1],
        0,
    ),
    (admin.AlterConfigsRequest, _alter_configs, lambda r: [r.responses[0].error_code], 0),
    (
        admin.IncrementalAlterConfigsRequest,
        _alter_configs,
        lambda r: [r.responses[0].error_code],
        0,
    ),
    (admin.ListConfigResourcesRequest, lambda kind, _: kind(), lambda r: [r.error_code], 0),
    (
        admin.DeleteRecordsRequest,
        _delete_records,
        lambda r: [r.topics[0].partitions[0].error_code],
        0,
    ),
    (admin.DescribeClusterRequest, lambda kind, _: kind(), lambda r: [r.error_code], 0),
    (
        admin.DescribeTopicPartitionsRequest,
        lambda kind, topic: kind(topics=[kind.TopicRequest(name=topic)]),
        lambda r: [r.topics[0].error_code],
        0,
    ),
    (admin.DescribeLogDirsRequest, _log_dirs, lambda r: [r.results[0].error_code], 0),
    (
        admin.DescribeProducersRequest,
        _producers,
        lambda r: [r.topics[0].partitions[0].error_code],
        0,
    ),
    (
        producer.InitProducerIdRequest,
        lambda kind, _: kind(transactional_id=None, transaction_timeout_ms=1000),
        lambda r: [r.error_code, min(r.producer_id, 0)],
        0,
    ),
    (
        metadata.ApiVersionsRequest,
        lambda kind, _: kind(client_software_name="wire", client_software_version="1"),
        lambda r: [r.error_code],
        0,
    ),
]


@pytest.fixture(scope="module")
def filled(bootstrap: str) -> str:
    """A topic of three records."""
    topic = create_topic(bootstrap, "versions")
    produce(bootstrap, topic, [b"v"] * 3)
    return topic


def advertised(wire: Wire) -> dict[int, range]:
    answer = wire.ask(metadata.ApiVersionsRequest[0]())
    return {key.api_key: range(key.min_version, key.max_version + 1) for key in answer.api_keys}


@pytest.mark.parametrize(
    ("kind", "build", "errors", "expected"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_every_version_is_answered(
    wire: Wire, filled: str, kind: Any, build: Build, errors: Any, expected: int
) -> None:
    for version in advertised(wire)[kind.API_KEY]:
        answer = wire.ask(build(Versioned(kind, version), filled))
        assert set(errors(answer)) == {expected}, f"version {version} answered {answer}"


class Versioned:
    """A request class at one version, whose nested classes are found as on the class itself."""

    def __init__(self, kind: Any, version: int) -> None:
        self.kind, self.version = kind, version

    def __call__(self, **fields: Any) -> ApiMessage:
        return self.kind[self.version](**fields)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kind, name)


def test_topic_ids_are_supported_all_over_or_not_at_all(wire: Wire) -> None:
    highest = {key: versions[-1] for key, versions in advertised(wire).items()}
    assert highest[metadata.MetadataRequest.API_KEY] >= 12
    assert highest[consumer.FetchRequest.API_KEY] >= 13
    assert highest[producer.ProduceRequest.API_KEY] >= 13


def test_produce_is_advertised_from_version_zero(wire: Wire) -> None:
    assert advertised(wire)[0][0] == 0  # older librdkafka turns compression off otherwise


def test_the_client_apis_reach_the_versions_of_kafka_4_3(wire: Wire) -> None:
    wanted = {0: 13, 1: 18, 2: 11, 3: 13, 18: 4, 19: 7, 20: 6, 21: 2, 22: 5, 23: 4, 32: 4, 33: 2}
    wanted |= {35: 5, 37: 3, 44: 1, 60: 2, 61: 0, 74: 1, 75: 0}
    found = advertised(wire)
    assert {key: found[key][-1] for key in wanted} == wanted
