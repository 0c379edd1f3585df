"""Topics, partitions and brokers as v2 shows them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.configs import ConfigResource, ResourceType
from ottla.client.administration.offsets import EARLIEST, LATEST
from ottla.client.view import Partition, Topic
from ottla.http.rest.v2.declare import route
from ottla.http.server.call import Call
from ottla.http.server.errors import UNKNOWN, HttpError


class ReplicaEntry(msgspec.Struct):
    """A replica."""

    broker: int
    leader: bool
    in_sync: bool


class PartitionEntry(msgspec.Struct):
    """A partition."""

    partition: int
    leader: int
    replicas: list[ReplicaEntry]


class TopicEntry(msgspec.Struct):
    """A topic."""

    name: str
    configs: dict[str, str | None]
    partitions: list[PartitionEntry]


class OffsetsEntry(msgspec.Struct):
    """Where a partition begins and ends."""

    beginning_offset: int
    end_offset: int


class BrokerList(msgspec.Struct):
    """The ids of the brokers."""

    brokers: list[int]


async def list_topics(call: Call) -> list[str]:
    """Return the names of all topics that are not internal."""
    return list(await (await call.admin()).list_topics(include_internal=False))


async def get_topic(call: Call) -> TopicEntry:
    """Return a topic with its settings."""
    topic, admin = await find_topic(call), await call.admin()
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    found = (await admin.describe_configs([resource]))[resource]
    if isinstance(found, ApiError):
        raise found
    configs = {name: entry.value for name, entry in sorted(found.items())}
    return TopicEntry(topic.name, configs, [_partition(each) for each in topic.partitions])


async def list_partitions(call: Call) -> list[PartitionEntry]:
    """Return the partitions of a topic."""
    return [_partition(each) for each in (await find_topic(call)).partitions]


async def get_partition(call: Call) -> PartitionEntry:
    """Return one partition."""
    return _partition(await find_partition(call))


async def get_offsets(call: Call) -> OffsetsEntry:
    """Return where a partition begins and ends."""
    partition, admin = await find_partition(call), await call.admin()
    at, ends = TopicPartition(call.path["topic_name"], partition.index), []
    for spec in (EARLIEST, LATEST):
        found = (await admin.list_offsets({at: spec}))[at]
        if isinstance(found, ApiError):
            raise found
        ends.append(found.offset)
    return OffsetsEntry(*ends)


async def list_brokers(call: Call) -> BrokerList:
    """Return the ids of the brokers."""
    found = await (await call.admin()).describe_cluster()
    return BrokerList([each.id for each in found.brokers])


async def find_topic(call: Call) -> Topic:
    """The topic of the path."""
    name = call.path["topic_name"]
    found = (await (await call.admin()).describe_topics([name])).get(name)
    if isinstance(found, ApiError):
        raise found
    if found is None:
        raise HttpError(404, "Topic not found.", code=UNKNOWN)
    return found


async def find_partition(call: Call) -> Partition:
    """The partition of the path."""
    found = (await find_topic(call)).partition(call.number("partition_id"))
    if found is None:
        raise HttpError(404, "Partition not found.", code=40402)
    return found


def _partition(partition: Partition) -> PartitionEntry:
    replicas = [
        ReplicaEntry(each, each == partition.leader, each in partition.isr)
        for each in partition.replicas
    ]
    return PartitionEntry(partition.index, partition.leader, replicas)


_PARTITIONS: Final = "/topics/{topic_name}/partitions"
ROUTES: Final[tuple[Any, ...]] = (
    route("GET", "/topics", list_topics, "List topics", answer=list[str]),
    route("GET", "/topics/{topic_name}", get_topic, "Get a topic", answer=TopicEntry),
    route("GET", _PARTITIONS, list_partitions, "List partitions", answer=list[PartitionEntry]),
    route("GET", f"{_PARTITIONS}/{{partition_id}}", get_partition, "Get a partition", answer=PartitionEntry),
    route("GET", f"{_PARTITIONS}/{{partition_id}}/offsets", get_offsets, "Get the ends of a partition",
          answer=OffsetsEntry),
    route("GET", "/brokers", list_brokers, "List brokers", answer=BrokerList),
)  # fmt: skip
