"""The topics of a cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from starlette.responses import Response

from ottla.base.errors import ApiError
from ottla.client.administration.topics import NewPartitions, NewTopic
from ottla.client.view import NOT_TOLD, Topic
from ottla.config.kinds import Bool
from ottla.http.rest.v3.declare import CLUSTER, TOPIC, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.rest.v3.operations import operation_names
from ottla.http.rest.v3.partitions import find_topic
from ottla.http.server.answers import encoded
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.http.server.routes import Query

if TYPE_CHECKING:
    from ottla.client.admin import Admin

_LOOKS: Final = 40
_LOOK_S: Final = 0.05
Count = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
BrokerId = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class TopicData(Resource, kw_only=True):
    """A topic."""

    cluster_id: str
    topic_name: str
    is_internal: bool
    replication_factor: int
    partitions_count: int
    partitions: Related
    configs: Related
    partition_reassignments: Related
    authorized_operations: list[str] = msgspec.field(default_factory=list)


class ReplicasAssignment(msgspec.Struct):
    """Which brokers hold a partition."""

    partition_id: BrokerId
    broker_ids: list[BrokerId]


class NewConfig(msgspec.Struct):
    """A setting of a new topic."""

    name: str
    value: str | None = None


class CreateTopicRequest(msgspec.Struct):
    """A topic to be made."""

    topic_name: str
    partitions_count: Count | None = None
    replication_factor: Annotated[int, msgspec.Meta(ge=-1, le=32767)] | None = None
    replicas_assignments: list[ReplicasAssignment] = []
    configs: list[NewConfig] = []
    validate_only: bool = False


class UpdatePartitionCountRequest(msgspec.Struct):
    """How many partitions a topic shall have."""

    partitions_count: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


async def list_topics(call: Call) -> Any:
    """Return all topics that the caller may see."""
    links = await links_of(call)
    topics = await (await call.admin()).list_topics()
    return links.listed(
        "KafkaTopicList", [topic_data(links, each) for each in topics.values()], "topics"
    )


async def get_topic(call: Call) -> TopicData:
    """Return one topic."""
    return topic_data(await links_of(call), await find_topic(call))


async def create_topic(call: Call) -> Any:
    """Make a topic."""
    wanted: CreateTopicRequest = await call.body()
    links, admin = await links_of(call), await call.admin()
    new = NewTopic(
        wanted.topic_name,
        -1 if wanted.partitions_count is None else wanted.partitions_count,
        -1 if wanted.replication_factor is None else wanted.replication_factor,
        {each.partition_id: each.broker_ids for each in wanted.replicas_assignments},
        {each.name: each.value or "" for each in wanted.configs},
    )
    made = await admin.create_topics([new], validate_only=wanted.validate_only)
    created = made[wanted.topic_name]
    if isinstance(created, ApiError):
        raise created
    data = TopicData(
        kind="KafkaTopic",
        metadata=links.metadata(f"/topic={created.name}", "topics", created.name),
        cluster_id=links.cluster_id,
        topic_name=created.name,
        is_internal=False,
        replication_factor=created.replication_factor,
        partitions_count=created.partitions,
        partitions=links.to("topics", created.name, "partitions"),
        configs=links.to("topics", created.name, "configs"),
        partition_reassignments=links.to("topics", created.name, "partitions", "-", "reassignment"),
    )
    if wanted.validate_only:
        return Response(encoded(data), 200, media_type="application/json")
    await _visible(admin, created.name, created.partitions)
    headers = {"location": data.metadata.self}
    return Response(encoded(data), 201, headers, "application/json")


async def _visible(admin: Admin, name: str, partitions: int) -> None:
    """Wait a little until brokers know the topic: on a KRaft cluster they learn of it after the controller."""
    for _ in range(_LOOKS):
        found = (await admin.describe_topics([name])).get(name)
        if isinstance(found, Topic) and sum(p.leader >= 0 for p in found.partitions) >= partitions:
            return
        await asyncio.sleep(_LOOK_S)


async def update_partition_count(call: Call) -> TopicData:
    """Give a topic more partitions."""
    wanted: UpdatePartitionCountRequest = await call.body()
    name = call.path["topic_name"]
    admin = await call.admin()
    found = await admin.create_partitions({name: NewPartitions(wanted.partitions_count)})
    refused = found[name]
    if isinstance(refused, ApiError):
        raise refused
    data = topic_data(await links_of(call), await find_topic(call))
    data.partitions_count = wanted.partitions_count
    return data


async def delete_topic(call: Call) -> None:
    """Delete a topic with all that it holds."""
    name = call.path["topic_name"]
    refused = (await (await call.admin()).delete_topics([name])).get(name)
    if isinstance(refused, ApiError):
        raise refused


def topic_data(links: Links, topic: Topic) -> TopicData:
    """A topic as v3 shows it."""
    if topic.error:
        raise HttpError(500, f"topic {topic.name} cannot be described at present", code=50003)
    operations = topic.authorized_operations
    return TopicData(
        kind="KafkaTopic",
        metadata=links.metadata(f"/topic={topic.name}", "topics", topic.name),
        cluster_id=links.cluster_id,
        topic_name=topic.name,
        is_internal=topic.internal,
        replication_factor=len(topic.partitions[0].replicas) if topic.partitions else 0,
        partitions_count=len(topic.partitions),
        authorized_operations=[] if operations == NOT_TOLD else operation_names(operations),
        partitions=links.to("topics", topic.name, "partitions"),
        configs=links.to("topics", topic.name, "configs"),
        partition_reassignments=links.to("topics", topic.name, "partitions", "-", "reassignment"),
    )


_OPERATIONS: Final = Query(
    "include_authorized_operations", Bool(), "Tells what the caller may do with the topic.", False
)
ROUTES: Final = (
    route("GET", f"{CLUSTER}/topics", list_topics, "List topics", "Topic", answer=list_of(TopicData)),
    route("POST", f"{CLUSTER}/topics", create_topic, "Create a topic", "Topic",
          body=CreateTopicRequest, answer=TopicData, status=201),
    route("GET", TOPIC, get_topic, "Get a topic", "Topic", query=(_OPERATIONS,), answer=TopicData),
    route("PATCH", TOPIC, update_partition_count, "Add partitions to a topic", "Topic",
          body=UpdatePartitionCountRequest, answer=TopicData),
    route("DELETE", TOPIC, delete_topic, "Delete a topic", "Topic"),
)  # fmt: skip
