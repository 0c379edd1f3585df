"""Moves of replicas that are under way."""

from __future__ import annotations

from typing import Any, Final

from ottla.base.ids import TopicPartition
from ottla.client.administration.placement import Reassignment
from ottla.http.rest.v3.declare import CLUSTER, PARTITION, TOPIC, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.rest.v3.partitions import find_partition, find_topic
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError


class ReassignmentData(Resource, kw_only=True):
    """A move of replicas."""

    cluster_id: str
    topic_name: str
    partition_id: int
    adding_replicas: list[int]
    removing_replicas: list[int]
    replicas: Related


async def list_all(call: Call) -> Any:
    """Return all moves of a cluster."""
    links = await links_of(call)
    found = await (await call.admin()).list_partition_reassignments()
    data = [_reassignment(links, *each) for each in sorted(found.items())]
    return links.listed(
        "KafkaReassignmentList", data, "topics", "-", "partitions", "-", "reassignment"
    )


async def list_of_topic(call: Call) -> Any:
    """Return the moves of a topic."""
    links, topic = await links_of(call), await find_topic(call)
    wanted = [TopicPartition(topic.name, each.index) for each in topic.partitions]
    found = await (await call.admin()).list_partition_reassignments(wanted)
    data = [_reassignment(links, *each) for each in sorted(found.items())]
    where = ("topics", topic.name, "partitions", "-", "reassignment")
    return links.listed("KafkaReassignmentList", data, *where)


async def get_reassignment(call: Call) -> ReassignmentData:
    """Return the move of one partition."""
    links = await links_of(call)
    topic, partition = await find_partition(call)
    at = TopicPartition(topic.name, partition.index)
    found = await (await call.admin()).list_partition_reassignments([at])
    if at not in found:
        raise HttpError(404, f"the replicas of {at} are not being moved", code=404)
    return _reassignment(links, at, found[at])


def _reassignment(links: Links, at: TopicPartition, found: Reassignment) -> ReassignmentData:
    where = ("topics", at.topic, "partitions", at.partition)
    crn = f"/topic={at.topic}/partition={at.partition}/reassignment"
    return ReassignmentData(
        kind="KafkaReassignment",
        metadata=links.metadata(crn, *where, "reassignment"),
        cluster_id=links.cluster_id,
        topic_name=at.topic,
        partition_id=at.partition,
        adding_replicas=list(found.adding),
        removing_replicas=list(found.removing),
        replicas=links.to(*where, "replicas"),
    )


_LIST: Final = list_of(ReassignmentData)
ROUTES: Final = (
    route("GET", f"{CLUSTER}/topics/-/partitions/-/reassignment", list_all, "List all reassignments",
          "Partition", answer=_LIST),
    route("GET", f"{TOPIC}/partitions/-/reassignment", list_of_topic, "List the reassignments of a topic",
          "Partition", answer=_LIST),
    route("GET", f"{PARTITION}/reassignment", get_reassignment, "Get the reassignment of a partition",
          "Partition", answer=ReassignmentData),
)  # fmt: skip
