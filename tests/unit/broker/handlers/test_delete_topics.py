"""DeleteTopics: by name, and since version 6 by id."""

import uuid

import pytest

from ottla.base.ids import ZERO_ID
from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client


def topic_id_of(client: Client, name: str) -> uuid.UUID:
    topics = [MetadataRequestTopic(name=name)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    return client.ask(request).topics[0].topic_id


def delete(client: Client, *topics: DeleteTopicState):
    return client.ask(DeleteTopicsRequest(topics=list(topics), timeout_ms=10_000)).responses


@pytest.mark.parametrize("version", range(1, 6))
def test_topics_are_deleted_by_name(client: Client, version: int) -> None:
    name = client.new_topic()
    request = DeleteTopicsRequest(topic_names=[name, "no-such-topic"], timeout_ms=10_000)
    results = {r.name: r.error_code for r in client.ask(request, version).responses}
    assert results == {name: ErrorCode.NONE, "no-such-topic": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    wait_for(lambda: topic_id_of(client, name) == ZERO_ID, "the topic to go")


def test_topics_are_deleted_by_id(client: Client) -> None:
    name = client.new_topic()
    topic_id = topic_id_of(client, name)
    [result] = delete(client, DeleteTopicState(name=None, topic_id=topic_id))
    assert (result.error_code, result.name, result.topic_id) == (0, name, topic_id)
    wait_for(lambda: topic_id_of(client, name) == ZERO_ID, "the topic to go")


def test_a_topic_goes_with_all_its_partitions(client: Client) -> None:
    name = client.new_topic(partitions=3)
    [result] = delete(client, DeleteTopicState(name=name))
    assert result.error_code == ErrorCode.NONE
    wait_for(lambda: topic_id_of(client, name) == ZERO_ID, "the topic to go")


def test_version_6_takes_names_as_well(client: Client) -> None:
    name = client.new_topic()
    topic_id = topic_id_of(client, name)
    [result] = delete(client, DeleteTopicState(name=name))
    assert (result.error_code, result.name, result.topic_id) == (0, name, topic_id)


def test_an_unknown_id_is_told(client: Client) -> None:
    nobody = uuid.uuid4()
    [result] = delete(client, DeleteTopicState(name=None, topic_id=nobody))
    assert (result.error_code, result.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)
    assert result.topic_id == nobody


def test_a_topic_must_be_named_in_one_way(client: Client) -> None:
    name = client.new_topic()
    both = DeleteTopicState(name=name, topic_id=topic_id_of(client, name))
    neither = DeleteTopicState(name=None)
    codes = {result.error_code for result in delete(client, both, neither)}
    assert codes == {ErrorCode.INVALID_REQUEST}
    assert topic_id_of(client, name) != ZERO_ID


def test_a_topic_named_twice_is_kept(client: Client) -> None:
    name = client.new_topic()
    results = delete(client, DeleteTopicState(name=name), DeleteTopicState(name=name))
    assert {result.error_code for result in results} == {ErrorCode.INVALID_REQUEST}
    assert topic_id_of(client, name) != ZERO_ID


def test_deletion_may_be_switched_off(own_broker) -> None:
    broker: OttlaBroker = own_broker({"delete.topic.enable": "false"})
    client = Client(broker.bootstrap)
    name = client.new_topic()
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000)
    for version in range(1, 6):
        [result] = client.ask(request, version).responses
        old = version < 3
        expected = ErrorCode.INVALID_REQUEST if old else ErrorCode.TOPIC_DELETION_DISABLED
        assert (result.name, result.error_code) == (name, expected)
    client.close()
