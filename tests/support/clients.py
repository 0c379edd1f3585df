"""Short words for what nearly every test does with confluent-kafka: topics, produce, consume."""

import itertools
import os
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.support.waiting import wait_for

TIMEOUT_S = 20.0
_numbers = itertools.count()


def unique_name(prefix: str) -> str:
    """A topic name no other test uses."""
    return f"{prefix}-{os.getpid()}-{next(_numbers)}"


def admin(bootstrap: str) -> AdminClient:
    """An admin client."""
    return AdminClient({"bootstrap.servers": bootstrap})


def create_topic(
    bootstrap: str,
    prefix: str = "topic",
    partitions: int = 1,
    replicas: int = 1,
    **configs: str | int,
) -> str:
    """Create a topic of a unique name; configs are Kafka's names with _ for a dot."""
    name = unique_name(prefix)
    config = {setting.replace("_", "."): str(value) for setting, value in configs.items()}
    create_named(bootstrap, name, partitions, config, replicas)
    return name


def create_named(
    bootstrap: str,
    name: str,
    partitions: int = 1,
    config: dict[str, str] | None = None,
    replicas: int = 1,
) -> None:
    """Create a topic of this name and wait until its leaders answer.

    Kafka's metadata names leaders a moment before they know that they lead.
    """
    new = NewTopic(
        name, num_partitions=partitions, replication_factor=replicas, config=config or {}
    )
    client = admin(bootstrap)
    client.create_topics([new])[name].result(TIMEOUT_S)
    wait_for(lambda: _leaders_answer(client, name, partitions), f"leaders of {name}")


def _leaders_answer(client: AdminClient, name: str, partitions: int) -> bool:
    found = client.list_topics(name, timeout=TIMEOUT_S).topics[name].partitions.values()
    if sum(partition.leader >= 0 for partition in found) < partitions:
        return False
    asked = {TopicPartition(name, n): OffsetSpec.latest() for n in range(partitions)}
    futures = client.list_offsets(asked).values()
    return all(future.exception(TIMEOUT_S) is None for future in futures)


def producer(bootstrap: str, **settings: Any) -> Producer:
    """A producer; settings are librdkafka's names with _ for a dot."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **named})


def produce(
    bootstrap: str, topic: str, records: Iterable[dict[str, Any] | bytes], **settings: Any
) -> list[Message]:
    """Produce records (values, or arguments of produce) and return them as delivered, in order."""
    client = producer(bootstrap, **settings)
    delivered: list[tuple[int, Message]] = []
    failed: list[KafkaError] = []

    def on_delivery(index: int, error: KafkaError | None, message: Message) -> None:
        failed.append(error) if error is not None else delivered.append((index, message))

    for index, record in enumerate(records):
        arguments = {"value": record} if isinstance(record, bytes) else record
        client.produce(
            topic, **arguments, on_delivery=lambda e, m, index=index: on_delivery(index, e, m)
        )
        client.poll(0)
    assert client.flush(TIMEOUT_S) == 0
    assert not failed, failed[0]
    return [message for _, message in sorted(delivered, key=lambda pair: pair[0])]


def consumer(bootstrap: str, **settings: Any) -> Consumer:
    """A consumer that joins no group (the name is required, and never used)."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 20,
            **named,
        }
    )


def consume(
    bootstrap: str, topic: str, partition: int = 0, offset: int = 0, **settings: Any
) -> list[Message]:
    """Everything from the offset to the end of one partition."""
    client = consumer(bootstrap, **settings)
    try:
        client.assign([TopicPartition(topic, partition, offset)])
        return read_to_end(client)
    finally:
        client.close()


def read_to_end(client: Consumer, partitions: int = 1) -> list[Message]:
    """Read until every assigned partition has said that it is at its end."""
    messages: list[Message] = []
    ends = 0
    while ends < partitions:
        message = client.poll(TIMEOUT_S)
        assert message is not None, f"nothing for {TIMEOUT_S:g} s after {len(messages)} records"
        if message.error() is None:
            messages.append(message)
        elif message.error().code() == KafkaError._PARTITION_EOF:
            ends += 1
        elif not message.error().retriable():
            raise AssertionError(message.error())
    return messages
