"""A shop's tests: what is ordered is shipped."""

from collections.abc import Callable

import pytest

import ottla
from ottla.testing import Broker, Topic


def send(broker: Broker, topic: str, *orders: bytes) -> None:
    with ottla.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for order in orders:
            producer.send(topic, order)


def shipped(broker: Broker, topic: str, group: str) -> list[bytes | None]:
    with ottla.Consumer(
        bootstrap_servers=broker.bootstrap_servers, group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([topic])
        return [record.value for record in consumer.poll(20)]


@pytest.mark.parametrize("number", range(4))
def test_each_test_has_a_topic_of_its_own(
    ottla_broker: Broker, ottla_topic: Topic, number: int
) -> None:
    send(ottla_broker, ottla_topic, b"order %d" % number)
    assert shipped(ottla_broker, ottla_topic, "shipping") == [b"order %d" % number]


@pytest.mark.ottla_topic(partitions=3, cleanup_policy="compact")
def test_a_marker_says_how_the_topic_is_made(ottla_broker: Broker, ottla_topic: Topic) -> None:
    assert ottla_topic.partitions == 3
    assert ottla_topic.startswith("test_a_marker_says_how")
    with ottla.Admin({"bootstrap.servers": ottla_broker.bootstrap_servers}) as admin:
        described = admin.describe_topics([ottla_topic])[ottla_topic]
    assert len(described.partitions) == 3


def test_a_test_makes_several_topics(
    ottla_broker: Broker, ottla_topics: Callable[..., Topic]
) -> None:
    orders, invoices = ottla_topics(), ottla_topics("invoices", partitions=2)
    assert (orders.partitions, invoices, invoices.partitions) == (1, "invoices", 2)


def test_the_settings_of_the_suite_are_in_force(ottla_broker: Broker) -> None:
    with ottla.Producer(bootstrap_servers=ottla_broker.bootstrap_servers) as producer:
        assert producer.partitions_for("made-by-itself") == 2


async def test_a_coroutine_uses_the_same_broker(ottla_broker: Broker, ottla_topic: Topic) -> None:
    settings = {"bootstrap.servers": ottla_broker.bootstrap_servers}
    async with ottla.AsyncProducer(settings) as producer:
        await (await producer.send(ottla_topic, b"a"))
