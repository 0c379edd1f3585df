"""Metadata: brokers, topics by name and by id, and topics that come into being by being asked for."""

import uuid

import pytest

from ottla.base.ids import ZERO_ID
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.delete_topics import DeleteTopicsRequest
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client

VERSIONS = range(14)
NOT_ASKED = -(2**31)


def by_name(*names: str | None, create: bool = False, **options: bool) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create, **options)


def unknown_name() -> str:
    return f"unknown-{uuid.uuid4().hex[:12]}"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_described_alike_in_every_version(client: Client, version: int) -> None:
    name = client.new_topic(partitions=3)
    answer = client.ask(by_name(name), version)
    [broker] = answer.brokers
    [topic] = answer.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, name, False)
    assert [p.partition_index for p in topic.partitions] == [0, 1, 2]
    for partition in topic.partitions:
        assert (partition.error_code, partition.leader_id) == (0, broker.node_id)
        assert partition.replica_nodes == partition.isr_nodes == [broker.node_id]
        assert partition.offline_replicas == []
        assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert (topic.topic_id != ZERO_ID) == (version >= 10)
    assert (answer.cluster_id is not None) == (version >= 2)
    assert answer.controller_id == (broker.node_id if version >= 1 else -1)


def names_in(answer: MetadataResponse) -> set[str]:
    return {topic.name for topic in answer.topics}


def test_all_topics_or_none_are_asked_for_as_the_version_allows(client: Client) -> None:
    made = {client.new_topic(), client.new_topic()}
    assert made <= names_in(client.ask(MetadataRequest(topics=[]), 0))
    for version in VERSIONS[1:]:
        assert client.ask(MetadataRequest(topics=[]), version).topics == []
        assert made <= names_in(client.ask(MetadataRequest(topics=None), version))


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_found_by_id(client: Client, version: int) -> None:
    name = client.new_topic()
    topic_id = client.ask(by_name(name)).topics[0].topic_id
    topics = [MetadataRequestTopic(name=None, topic_id=topic_id)]
    [topic] = client.ask(MetadataRequest(topics=topics), version).topics
    assert (topic.error_code, topic.name, topic.topic_id) == (0, name, topic_id)


def test_an_unknown_id_is_told_as_such(client: Client) -> None:
    nobody = uuid.uuid4()
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=nobody)])
    [topic] = client.ask(request).topics
    assert (topic.error_code, topic.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)
    assert (topic.topic_id, topic.partitions) == (nobody, [])


@pytest.mark.parametrize("version", [10, 11])
def test_ids_cannot_be_asked_for_before_version_12(client: Client, version: int) -> None:
    topics = [MetadataRequestTopic(name=None, topic_id=uuid.uuid4())]
    [topic] = client.ask(MetadataRequest(topics=topics), version).topics
    assert topic.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", VERSIONS[4:])
def test_an_unknown_topic_is_not_made_unless_the_client_allows_it(
    client: Client, version: int
) -> None:
    name = unknown_name()
    [topic] = client.ask(by_name(name), version).topics
    assert (topic.error_code, topic.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    assert name not in names_in(client.ask(MetadataRequest(topics=None), version))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_made_when_a_client_that_allows_it_asks(client: Client, version: int) -> None:
    request = by_name(unknown_name(), create=True)

    def made() -> bool:
        return client.ask(request, version).topics[0].error_code == ErrorCode.NONE

    wait_for(made, "the topic")
    assert len(client.ask(request, version).topics[0].partitions) == 4


def test_a_topic_that_is_made_can_be_used_at_once(client: Client, ottla_only: None) -> None:
    [topic] = client.ask(by_name(unknown_name(), create=True)).topics
    assert topic.error_code == ErrorCode.NONE
    assert len(topic.partitions) == 4
    assert client.produce(topic.name) == 0


def test_clients_that_ask_together_get_the_same_topic(bootstrap: str, ottla_only: None) -> None:
    request = by_name(unknown_name(), create=True)
    frame = encode_request(request, 12, 1, "test")
    clients = [Client(bootstrap) for _ in range(10)]
    for client in clients:
        client.send(frame)
    answers = [decode_response(ApiKey.METADATA, 12, client.receive())[1] for client in clients]
    assert {topic.error_code for answer in answers for topic in answer.topics} == {0}
    assert len({topic.topic_id for answer in answers for topic in answer.topics}) == 1
    for client in clients:
        client.close()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a b", "é", "x" * 250])
@pytest.mark.parametrize("create", [True, False])
def test_impossible_names_are_never_made(client: Client, name: str, create: bool) -> None:
    [topic] = client.ask(by_name(name, create=create)).topics
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_TOPIC_EXCEPTION, name)


def test_what_differs_in_dots_alone_is_not_made(client: Client, ottla_only: None) -> None:
    first = unknown_name().replace("-", ".")
    client.ask(by_name(first, create=True))
    [topic] = client.ask(by_name(first.replace(".", "_"), create=True)).topics
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_topic_named_twice_is_described_once(client: Client) -> None:
    name = client.new_topic()
    assert len(client.ask(by_name(name, name)).topics) == 1


def test_operations_are_told_only_where_they_were_asked_for(client: Client) -> None:
    name = client.new_topic()
    for version in (8, 9, 10, 11, 13):
        plain = client.ask(by_name(name), version)
        assert plain.topics[0].topic_authorized_operations == NOT_ASKED
        assert plain.cluster_authorized_operations == NOT_ASKED
        asked = client.ask(by_name(name, include_topic_authorized_operations=True), version)
        assert asked.topics[0].topic_authorized_operations == 0b1101_1111_1000
    asked = client.ask(by_name(include_cluster_authorized_operations=True), 10)
    assert asked.cluster_authorized_operations == 0b1_1111_1010_0000


@pytest.mark.parametrize("version", range(8, 14))
def test_operations_are_told_of_a_topic_that_is_not_there(client: Client, version: int) -> None:
    for name in (unknown_name(), "a/b"):
        [plain] = client.ask(by_name(name), version).topics
        assert plain.topic_authorized_operations == NOT_ASKED
        asked = by_name(name, include_topic_authorized_operations=True)
        [told] = client.ask(asked, version).topics
        assert (told.name, told.topic_authorized_operations) == (name, 0b1101_1111_1000)


def test_operations_are_not_told_of_an_unknown_id(client: Client) -> None:
    topics = [MetadataRequestTopic(name=None, topic_id=uuid.uuid4())]
    asked = MetadataRequest(topics=topics, include_topic_authorized_operations=True)
    [told] = client.ask(asked, 12).topics
    assert told.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert told.topic_authorized_operations == NOT_ASKED


def test_a_deleted_topic_is_not_remembered(client: Client) -> None:
    name = client.new_topic()
    before = client.ask(by_name(name)).topics[0].topic_id
    client.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
    request = by_name(name)
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    wait_for(lambda: client.ask(request).topics[0].error_code == gone, "the topic to go")
    by_id = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=before)])
    assert client.ask(by_id).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
