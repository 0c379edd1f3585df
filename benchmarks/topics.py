"""Topics for the benchmarks: made, counted and removed through the admin protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

TIMEOUT_SECONDS = 60.0
_numbers = count(1)


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def create_topic(
    bootstrap: str,
    partitions: int = 1,
    config: dict[str, str] | None = None,
    replication_factor: int = 1,
) -> str:
    """Makes a topic under a new name and returns when all its partitions have a leader."""
    topic = f"bench-{next(_numbers)}"
    return _create(bootstrap, NewTopic(topic, partitions, replication_factor, config=config or {}))


def place_topic(bootstrap: str, replicas: Sequence[int], partitions: int = 1) -> str:
    """Makes a topic whose partitions are all on these brokers, the first of which leads them."""
    placed = [list(replicas)] * partitions
    topic = f"bench-{next(_numbers)}"
    return _create(bootstrap, NewTopic(topic, partitions, replica_assignment=placed))


def _create(bootstrap: str, new: Any) -> str:
    topic = str(new.topic)
    client = _admin(bootstrap)
    client.create_topics([new])[topic].result(TIMEOUT_SECONDS)
    _wait_for(lambda: _leaders(client, topic) == new.num_partitions, f"leaders of topic {topic}")
    return topic


def wait_until_in_sync(bootstrap: str, topic: str) -> None:
    """Returns when all replicas of a topic are in sync."""
    client = _admin(bootstrap)

    def in_sync() -> bool:
        found = client.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic]
        return all(len(each.isrs) == len(each.replicas) for each in found.partitions.values())

    _wait_for(in_sync, f"in-sync replicas of topic {topic}")


def leaders(bootstrap: str, topic: str, partitions: int) -> dict[int, str]:
    """The address of the leader of each partition."""
    found = _admin(bootstrap).list_topics(topic, timeout=TIMEOUT_SECONDS)
    placed = found.topics[topic].partitions
    brokers = {number: f"{each.host}:{each.port}" for number, each in found.brokers.items()}
    return {number: brokers[placed[number].leader] for number in range(partitions)}


def controller_id(bootstrap: str) -> int:
    """The broker that metadata names as the controller; Kafka's KRaft brokers name any of them."""
    found = _admin(bootstrap).list_topics(timeout=TIMEOUT_SECONDS)
    return int(found.controller_id)


def delete_topic(bootstrap: str, topic: str) -> None:
    """Removes a topic."""
    client = _admin(bootstrap)  # a client that is not kept ends before it has the answer
    client.delete_topics([topic])[topic].result(TIMEOUT_SECONDS)


@contextmanager
def temporary_topic(
    bootstrap: str,
    partitions: int = 1,
    config: dict[str, str] | None = None,
    replication_factor: int = 1,
) -> Iterator[str]:
    """A topic that exists as long as the context."""
    topic = create_topic(bootstrap, partitions, config, replication_factor)
    try:
        yield topic
    finally:
        delete_topic(bootstrap, topic)


def set_topic_config(bootstrap: str, topic: str, config: dict[str, str]) -> None:
    """Changes settings of a topic and leaves the others."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    client = _admin(bootstrap)
    client.incremental_alter_configs([resource])[resource].result(TIMEOUT_SECONDS)


def count_records(bootstrap: str, topic: str, partitions: int = 1) -> int:
    """How many offsets the broker has given out in a topic."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, number): latest for number in range(partitions)}
    client = _admin(bootstrap)
    futures = client.list_offsets(asked)
    return sum(future.result(TIMEOUT_SECONDS).offset for future in futures.values())


def wait_for_records(bootstrap: str, topic: str, expected: int) -> None:
    """Returns when a topic of one partition holds exactly so many records and markers."""
    _wait_for(
        lambda: count_records(bootstrap, topic) == expected, f"{expected} offsets in topic {topic}"
    )


def _leaders(client: AdminClient, topic: str) -> int:
    metadata = client.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic]
    return sum(partition.leader >= 0 for partition in metadata.partitions.values())


def _wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} within {TIMEOUT_SECONDS:.0f} s")
        time.sleep(0.02)
