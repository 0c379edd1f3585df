"""The clock of a broker is moved: what is past its retention goes, and who is overdue is given up."""

import time
from collections.abc import Iterator

import pytest

import ottla
from ottla.testing import Broker
from tests.support.waiting import wait_for


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def produce(broker: Broker, topic: str, **settings: object) -> None:
    with ottla.Producer({"bootstrap.servers": broker.bootstrap_servers, **settings}) as producer:
        producer.send(topic, b"a")


def offsets(broker: Broker, topic: str) -> tuple[int, int]:
    where = ottla.TopicPartition(topic, 0)
    with ottla.Consumer({"bootstrap.servers": broker.bootstrap_servers}) as consumer:
        return consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]


def test_what_is_past_its_retention_is_deleted(broker: Broker) -> None:
    short, long = broker.create_topic(retention_ms=3_600_000), broker.create_topic()
    for topic in (short, long):
        produce(broker, topic)
    broker.advance_clock(hours=2)
    assert offsets(broker, short) == (1, 1)
    assert offsets(broker, long) == (0, 1)
    broker.advance_clock(days=7)
    assert offsets(broker, long) == (1, 1)
    broker.reset_clock()


def test_a_restart_does_not_set_the_clock(broker: Broker) -> None:
    topic = broker.create_topic(message_timestamp_type="LogAppendTime")
    broker.advance_clock(days=1)
    broker.restart()
    with ottla.Producer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
        written = producer.send(topic, b"a").result(20)
    assert written.timestamp - time.time() * 1000 > 23 * 3_600_000
    broker.reset_clock()


def test_a_member_that_is_overdue_is_given_up(broker: Broker) -> None:
    topic, group = broker.create_topic(), "a-group"
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    # Long enough for no heartbeat to come in between.
    slow = {"group.id": group, "session.timeout.ms": 300_000, "heartbeat.interval.ms": 100_000}
    with ottla.Admin(settings) as admin, ottla.Consumer(settings | slow) as consumer:
        consumer.subscribe([topic])
        wait_for(lambda: consumer.poll(0.1) or consumer.assignment(), "the partition")
        assert len(admin.describe_groups([group])[group].members) == 1
        broker.advance_clock(minutes=6)
        assert admin.describe_groups([group])[group].members == ()
        broker.reset_clock()
