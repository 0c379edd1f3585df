"""Fault rules met by real clients, which do what they should."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import ottla
from ottla.testing import Broker, Topic
from tests.support.clients import consume
from tests.support.waiting import wait_for


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Iterator[Broker]:
    yield shared
    shared.restore()


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.create_topic()


def producer(broker: Broker, **settings: object) -> Producer:
    quick = {"linger.ms": 0, "retry.backoff.ms": 10, "reconnect.backoff.ms": 10}
    return Producer({"bootstrap.servers": broker.bootstrap_servers, **quick, **settings})


def deliver(client: Producer, topic: str, value: str) -> None:
    errors: list[object] = []
    client.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    assert client.flush(20) == 0
    assert errors == [None]


def stored(broker: Broker, topic: str) -> list[bytes]:
    return [message.value() for message in consume(broker.bootstrap_servers, topic)]


def test_a_produce_that_fails_is_tried_again(broker: Broker, topic: Topic) -> None:
    rule = broker.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    deliver(producer(broker), topic, "a")
    assert rule.applied == 2
    assert stored(broker, topic) == [b"a"]


def test_a_produce_that_may_not_be_tried_again_fails(broker: Broker, topic: Topic) -> None:
    broker.faults.fail("Produce", "TOPIC_AUTHORIZATION_FAILED")
    with ottla.Producer({"bootstrap.servers": broker.bootstrap_servers}) as client:
        with pytest.raises(ottla.ApiError, match="A fault rule of a test"):
            client.send(topic, b"a").result(20)
        client.send(topic, b"b").result(20)
    assert stored(broker, topic) == [b"b"]


def test_an_answer_that_is_lost_makes_no_duplicate(broker: Broker, topic: Topic) -> None:
    client = producer(broker, **{"enable.idempotence": True})
    deliver(client, topic, "a")
    rule = broker.faults.lose_answer("Produce")
    deliver(client, topic, "b")
    assert rule.applied == 1
    assert stored(broker, topic) == [b"a", b"b"]


def test_without_idempotence_a_lost_answer_makes_one(broker: Broker, topic: Topic) -> None:
    broker.faults.lose_answer("Produce")
    deliver(producer(broker), topic, "a")
    assert stored(broker, topic) == [b"a", b"a"]


def test_a_dropped_connection_is_opened_again(broker: Broker, topic: Topic) -> None:
    client = producer(broker)
    deliver(client, topic, "a")
    assert broker.faults.drop_connections() > 0
    deliver(client, topic, "b")
    rule = broker.faults.drop("Produce")
    deliver(client, topic, "c")
    assert rule.applied == 1
    assert stored(broker, topic) == [b"a", b"b", b"c"]


def test_a_delayed_fetch_takes_its_time(broker: Broker, topic: Topic) -> None:
    deliver(producer(broker), topic, "a")
    broker.faults.delay("Fetch", 400)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "none"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    began = time.monotonic()
    message = consumer.poll(20)
    took_s = time.monotonic() - began
    consumer.close()
    assert message is not None
    assert message.value() == b"a"
    assert took_s >= 0.4


def test_a_long_poll_that_was_delayed_still_hears_of_records(broker: Broker, topic: Topic) -> None:
    rule = broker.faults.delay("Fetch", 100)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "fetch.max.wait.ms": 20_000}
    with ottla.Consumer(settings) as consumer:
        consumer.assign([ottla.TopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        assert consumer.poll(0.3) == []
        assert rule.applied == 1
        deliver(producer(broker), topic, "a")
        assert [record.value for record in consumer.poll(10)] == [b"a"]


def test_a_join_whose_answer_is_lost_happens_again(broker: Broker, topic: Topic) -> None:
    deliver(producer(broker), topic, "a")
    rule = broker.faults.lose_answer("JoinGroup")
    settings = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "group.id": topic, "reconnect.backoff.ms": 10})
    consumer.subscribe([topic])
    message = consumer.poll(20)
    consumer.close()
    assert message is not None
    assert message.value() == b"a"
    assert rule.applied == 1


def test_metadata_fails_until_the_rule_is_ended(broker: Broker, topic: Topic) -> None:
    rule = broker.faults.fail("Metadata", "LEADER_NOT_AVAILABLE", times=None, client_id="unlucky")
    client = producer(broker, **{"client.id": "unlucky"})
    client.produce(topic, "a")
    wait_for(lambda: client.poll(0) or rule.applied > 2, "metadata to be asked for again")
    deliver(producer(broker, **{"client.id": "lucky"}), topic, "b")
    rule.end()
    assert client.flush(20) == 0
    assert stored(broker, topic) == [b"b", b"a"]


def test_names_that_nobody_knows_are_refused(broker: Broker) -> None:
    with pytest.raises(
        ValueError, match="'Produse' is not an API of Kafka; did you mean 'Produce'"
    ):
        broker.faults.drop("Produse")
    with pytest.raises(ValueError, match="'NOT_LEADER' is not an error code"):
        broker.faults.fail("Produce", "NOT_LEADER")


def test_the_broker_tells_what_it_saw(broker: Broker, topic: Topic) -> None:
    since_ms = time.time_ns() // 1_000_000
    broker.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
    deliver(producer(broker, **{"client.id": "shop"}), topic, "a")
    produced = [each for each in broker.sightings(since_ms) if each.api == "Produce"]
    assert {each.client_id for each in produced} == {"shop"}
    assert [each.outcome for each in produced] == ["fail with NOT_LEADER_OR_FOLLOWER", ""]
    assert 'fault rule rule="fail with NOT_LEADER_OR_FOLLOWER" api=Produce' in broker.log
