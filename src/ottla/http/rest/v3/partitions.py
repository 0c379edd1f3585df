"""The partitions of a topic and their replicas."""

from __future__ import annotations

from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.offsets import EARLIEST, LATEST
from ottla.client.view import Partition, Topic
from ottla.config.kinds import OneOf
from ottla.http.rest.v3.declare import PARTITION, TOPIC, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.server.call import Call
from ottla.http.server.errors import UNKNOWN, HttpError
from ottla.http.server.routes import Query


class PartitionData(Resource, kw_only=True):
    """A partition."""

    cluster_id: str
    topic_name: str
    partition_id: int
    leader: Related | None
    replicas: Related
    reassignment: Related


class ReplicaData(Resource, kw_only=True):
    """A replica of a partition."""

    cluster_id: str
    topic_name: str
    partition_id: int
    broker_id: int
    is_leader: bool
    is_in_sync: bool
    broker: Related


class OffsetData(Resource, kw_only=True):
    """Where a partition begins or ends."""

    cluster_id: str
    topic_name: str
    partition_id: int
    next_offset: int
    earliest_offset: int
    latest_offset: int


async def find_topic(call: Call) -> Topic:
    """The topic of the path; refused as Kafka does where it does not exist."""
    name = call.path["topic_name"]
    found = (await (await call.admin()).describe_topics([name])).get(name)
    if isinstance(found, Topic):
        return found
    if found is None:
        raise HttpError(404, f"there is no topic {name[:249]}", code=UNKNOWN)
    raise found


async def find_partition(call: Call) -> tuple[Topic, Partition]:
    """The partition of the path."""
    topic = await find_topic(call)
    number = call.number("partition_id")
    found = topic.partition(number)
    if found is None:
        raise HttpError(404, f"topic {topic.name} has no partition {number}", code=404)
    return topic, found


async def list_partitions(call: Call) -> Any:
    """Return the partitions of a topic."""
    links, topic = await links_of(call), await find_topic(call)
    data = [_partition(links, topic.name, each) for each in topic.partitions]
    return links.listed("KafkaPartitionList", data, "topics", topic.name, "partitions")


async def get_partition(call: Call) -> PartitionData:
    """Return one partition."""
    links = await links_of(call)
    topic, partition = await find_partition(call)
    return _partition(links, topic.name, partition)


async def get_offset(call: Call) -> OffsetData:
    """Return where a partition begins and ends."""
    links = await links_of(call)
    topic, partition = await find_partition(call)
    at = TopicPartition(topic.name, partition.index)
    admin = await call.admin()
    ends = []
    for spec in (EARLIEST, LATEST):
        found = (await admin.list_offsets({at: spec}))[at]
        if isinstance(found, ApiError):
            raise found
        ends.append(found.offset)
    wanted = ends[0] if call.query["offset_type"] == "earliest" else ends[1]
    where = ("topics", topic.name, "partitions", partition.index)
    return OffsetData(
        kind="KafkaPartitionOffset",
        metadata=links.metadata(
            f"/topic={at.topic}/partition={at.partition}/offset", *where, "offset"
        ),
        cluster_id=links.cluster_id,
        topic_name=at.topic,
        partition_id=at.partition,
        next_offset=wanted,
        earliest_offset=ends[0],
        latest_offset=ends[1],
    )


async def list_replicas(call: Call) -> Any:
    """Return the replicas of a partition."""
    links = await links_of(call)
    topic, partition = await find_partition(call)
    data = [replica_data(links, topic.name, partition, broker) for broker in partition.replicas]
    where = ("topics", topic.name, "partitions", partition.index, "replicas")
    return links.listed("KafkaReplicaList", data, *where)


async def get_replica(call: Call) -> ReplicaData:
    """Return one replica."""
    links = await links_of(call)
    topic, partition = await find_partition(call)
    broker = call.number("broker_id")
    if broker not in partition.replicas:
        where = f"{topic.name}-{partition.index}"
        raise HttpError(404, f"broker {broker} has no replica of {where}", code=404)
    return replica_data(links, topic.name, partition, broker)


def replica_data(links: Links, topic: str, partition: Partition, broker: int) -> ReplicaData:
    """A replica as v3 shows it."""
    number = partition.index
    crn = f"/topic={topic}/partition={number}/replica={broker}"
    return ReplicaData(
        kind="KafkaReplica",
        metadata=links.metadata(crn, "topics", topic, "partitions", number, "replicas", broker),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=number,
        broker_id=broker,
        is_leader=broker == partition.leader,
        is_in_sync=broker in partition.isr,
        broker=links.to("brokers", broker),
    )


def _partition(links: Links, topic: str, partition: Partition) -> PartitionData:
    where = ("topics", topic, "partitions", partition.index)
    led = partition.leader >= 0
    return PartitionData(
        kind="KafkaPartition",
        metadata=links.metadata(f"/topic={topic}/partition={partition.index}", *where),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=partition.index,
        leader=links.to(*where, "replicas", partition.leader) if led else None,
        replicas=links.to(*where, "replicas"),
        reassignment=links.to(*where, "reassignment"),
    )


_WHICH_END: Final = Query(
    "offset_type", OneOf("earliest", "latest"), "Which offset `next_offset` is.", "latest"
)
ROUTES: Final = (
    route("GET", f"{TOPIC}/partitions", list_partitions, "List partitions", "Partition",
          answer=list_of(PartitionData)),
    route("GET", PARTITION, get_partition, "Get a partition", "Partition", answer=PartitionData),
    route("GET", f"{PARTITION}/offset", get_offset, "Get the first and last offset of a partition",
          "Partition", query=(_WHICH_END,), answer=OffsetData),
    route("GET", f"{PARTITION}/replicas", list_replicas, "List replicas", "Replica",
          answer=list_of(ReplicaData)),
    route("GET", f"{PARTITION}/replicas/{{broker_id}}", get_replica, "Get a replica", "Replica",
          answer=ReplicaData),
)  # fmt: skip
