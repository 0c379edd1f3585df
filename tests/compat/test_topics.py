"""Topics made, described, widened, deleted and made again, with confluent-kafka's admin client."""

from concurrent.futures import Future

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, TopicDescription

from tests.support.clients import (
    admin,
    consume,
    consumer,
    create_named,
    create_topic,
    produce,
    producer,
    read_to_end,
    unique_name,
)
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


def error_of(future: Future[object]) -> int:
    """The error code that an admin call fails with."""
    with pytest.raises(KafkaException) as failure:
        future.result(20)
    return failure.value.args[0].code()


def describe(client: AdminClient, name: str) -> TopicDescription:
    return client.describe_topics(TopicCollection([name]))[name].result(20)


def describe_soon(client: AdminClient, name: str) -> TopicDescription:
    """Describe a topic that is just being made."""
    wait_for(lambda: name in client.list_topics(timeout=10).topics, "the topic")
    return describe(client, name)


def test_a_new_topic_is_described_as_it_was_asked_for(client: AdminClient) -> None:
    name = unique_name("new")
    client.create_topics([NewTopic(name, 3, 1)])[name].result(20)
    found = describe_soon(client, name)
    assert (found.name, found.is_internal) == (name, False)
    assert [partition.id for partition in found.partitions] == [0, 1, 2]
    for partition in found.partitions:
        [replica] = partition.replicas
        assert partition.leader.id == replica.id == partition.isr[0].id
    assert name in client.list_topics(timeout=10).topics


def test_counts_left_out_come_from_the_brokers_settings(client: AdminClient) -> None:
    name = unique_name("defaults")
    client.create_topics([NewTopic(name, -1, -1)])[name].result(20)
    assert len(describe_soon(client, name).partitions) == 4


def test_a_topic_exists_only_once(client: AdminClient, topic: str) -> None:
    code = error_of(client.create_topics([NewTopic(topic, 1, 1)])[topic])
    assert code == KafkaError.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "é", "x" * 250, "a b", "nul\x01"])
def test_names_that_kafka_refuses_are_refused(client: AdminClient, name: str) -> None:
    with pytest.raises((KafkaException, ValueError)) as failure:
        client.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    if isinstance(failure.value, KafkaException):
        code = failure.value.args[0].code()
        assert code in (KafkaError.TOPIC_EXCEPTION, KafkaError._INVALID_ARG)


def test_the_longest_name_works(bootstrap: str) -> None:
    name = unique_name("long").ljust(249, "x")
    create_named(bootstrap, name)
    produce(bootstrap, name, [b"v"])
    assert len(consume(bootstrap, name)) == 1


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewTopic("bad-count", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic("bad-factor", 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("bad-setting", 1, 1, config={"no.such": "1"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-value", 1, 1, config={"retention.ms": "x"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-range", 1, 1, config={"segment.bytes": "1"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-node", 1, replica_assignment=[[77]]), KafkaError.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=lambda value: value.topic if isinstance(value, NewTopic) else "",
)
def test_a_bad_topic_is_refused_with_kafkas_error(
    client: AdminClient, new: NewTopic, code: int
) -> None:
    assert error_of(client.create_topics([new])[new.topic]) == code
    assert new.topic not in client.list_topics(timeout=10).topics


def test_a_manual_assignment_is_kept(client: AdminClient) -> None:
    [broker] = client.list_topics(timeout=10).brokers
    name = unique_name("manual")
    new = NewTopic(name, 2, replica_assignment=[[broker], [broker]])
    client.create_topics([new])[name].result(20)
    found = describe_soon(client, name)
    assert [[node.id for node in p.replicas] for p in found.partitions] == [[broker], [broker]]


def test_validating_only_creates_nothing(client: AdminClient) -> None:
    name = unique_name("validated")
    client.create_topics([NewTopic(name, 1, 1)], validate_only=True)[name].result(20)
    assert name not in client.list_topics(timeout=10).topics
    bad = NewTopic(name, 1, 1, config={"no.such": "1"})
    future = client.create_topics([bad], validate_only=True)[name]
    assert error_of(future) == KafkaError.INVALID_CONFIG


def test_partitions_are_added_and_never_removed(bootstrap: str, client: AdminClient) -> None:
    topic = create_topic(bootstrap, partitions=2)
    client.create_partitions([NewPartitions(topic, 5)])[topic].result(20)
    wait_for(lambda: len(describe(client, topic).partitions) == 5, "five partitions")
    for fewer in (5, 3):
        future = client.create_partitions([NewPartitions(topic, fewer)])[topic]
        assert error_of(future) == KafkaError.INVALID_PARTITIONS
    client.create_partitions([NewPartitions(topic, 9)], validate_only=True)[topic].result(20)
    assert len(describe(client, topic).partitions) == 5
    produce(bootstrap, topic, [{"value": b"v", "partition": 4}])
    assert len(consume(bootstrap, topic, 4)) == 1


def test_a_deleted_topic_is_gone(client: AdminClient, topic: str) -> None:
    client.delete_topics([topic])[topic].result(20)
    wait_for(lambda: topic not in client.list_topics(timeout=10).topics, "the topic to go")
    assert error_of(client.delete_topics([topic])[topic]) == KafkaError.UNKNOWN_TOPIC_OR_PART
    future = client.describe_topics(TopicCollection([topic]))[topic]
    assert error_of(future) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topic_made_again_is_empty_and_has_another_id(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"old"] * 10)
    old_id = describe(client, topic).topic_id
    recreate(bootstrap, client, topic)
    assert describe(client, topic).topic_id != old_id
    assert consume(bootstrap, topic) == []


def recreate(bootstrap: str, client: AdminClient, topic: str) -> None:
    client.delete_topics([topic])[topic].result(20)
    wait_for(lambda: topic not in client.list_topics(timeout=10).topics, "the topic to go")
    create_named(bootstrap, topic)


def test_a_topic_is_made_again_under_running_clients(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    writer = producer(bootstrap, acks="all", topic_metadata_refresh_interval_ms=200)
    reader = consumer(bootstrap, auto_offset_reset="earliest", metadata_max_age_ms=1000)
    assert _delivers(writer, topic, b"old")
    reader.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read_to_end(reader)] == [b"old"]

    recreate(bootstrap, client, topic)
    wait_for(lambda: _delivers(writer, topic, b"new"), "the producer to find the new topic", 30)
    assert {message.value() for message in consume(bootstrap, topic)} == {b"new"}
    found = wait_for(
        lambda: _delivers(writer, topic, b"new") and _reads(reader),
        "the consumer to find the new topic",
        30,
    )
    assert found.value() == b"new"
    reader.close()


def _delivers(writer: Producer, topic: str, value: bytes) -> bool:
    errors: list[KafkaError | None] = []
    writer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    writer.flush(20)
    return errors == [None]


def _reads(reader: Consumer) -> Message | None:
    message = reader.poll(0.5)
    return message if message is not None and message.error() is None else None


def test_producing_to_an_unknown_topic_makes_it(bootstrap: str, client: AdminClient) -> None:
    name = unique_name("auto")
    produce(bootstrap, name, [b"v"])
    assert len(describe(client, name).partitions) == 4


def test_asking_about_an_unknown_topic_does_not_make_it(
    bootstrap: str, client: AdminClient
) -> None:
    name = unique_name("asked")
    reader = consumer(bootstrap, allow_auto_create_topics=False)
    found = reader.list_topics(name, timeout=10).topics[name]
    reader.close()
    assert found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert name not in client.list_topics(timeout=10).topics


def test_the_cluster_describes_itself(bootstrap: str, client: AdminClient) -> None:
    found = client.describe_cluster().result(20)
    [node] = found.nodes
    assert f"{node.host}:{node.port}" == bootstrap
    assert found.controller.id == node.id
    assert found.cluster_id
    assert client.list_topics(timeout=10).cluster_id == found.cluster_id


def test_a_broker_whose_rack_nobody_named_is_in_none(client: AdminClient) -> None:
    [broker] = client.describe_cluster().result(20).nodes
    assert broker.rack is None
