"""Consumer groups, their members and what those read."""

from __future__ import annotations

import re
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.groups import GroupDescription, MemberDescription
from ottla.http.rest.v3.declare import CLUSTER, GROUP, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError


class ConsumerGroupData(Resource, kw_only=True):
    """A group."""

    cluster_id: str
    consumer_group_id: str
    is_simple: bool
    partition_assignor: str
    state: str
    type: str
    is_mixed_consumer_group: bool
    coordinator: Related
    consumers: Related
    lag_summary: Related


class ConsumerData(Resource, kw_only=True):
    """A member of a group."""

    cluster_id: str
    consumer_group_id: str
    consumer_id: str
    instance_id: str | None
    client_id: str
    assignments: Related


class ConsumerAssignmentData(Resource, kw_only=True):
    """A partition that a member reads."""

    cluster_id: str
    consumer_group_id: str
    consumer_id: str
    topic_name: str
    partition_id: int
    partition: Related
    lag: Related


async def find_group(call: Call) -> GroupDescription:
    """The group of the path."""
    name = call.path["consumer_group_id"]
    found = (await (await call.admin()).describe_groups([name]))[name]
    if isinstance(found, ApiError):
        raise found
    return found


async def find_member(call: Call) -> tuple[GroupDescription, MemberDescription]:
    """The member of the path."""
    group, wanted = await find_group(call), call.path["consumer_id"]
    for each in group.members:
        if each.member_id == wanted:
            return group, each
    raise HttpError(404, f"group {group.group_id} has no member {wanted[:200]}", code=404)


async def list_groups(call: Call) -> Any:
    """Return all groups of consumers."""
    links, admin = await links_of(call), await call.admin()
    names = [
        each.group_id
        for each in await admin.list_groups()
        if each.protocol_type in ("consumer", "")
    ]
    found = await admin.describe_groups(names)
    data = [_group(links, each) for each in found.values() if not isinstance(each, ApiError)]
    return links.listed("KafkaConsumerGroupList", data, "consumer-groups")


async def get_group(call: Call) -> ConsumerGroupData:
    """Return one group."""
    return _group(await links_of(call), await find_group(call))


async def list_consumers(call: Call) -> Any:
    """Return the members of a group."""
    links, group = await links_of(call), await find_group(call)
    data = [_consumer(links, group.group_id, each) for each in group.members]
    return links.listed("KafkaConsumerList", data, "consumer-groups", group.group_id, "consumers")


async def get_consumer(call: Call) -> ConsumerData:
    """Return one member."""
    links = await links_of(call)
    group, member = await find_member(call)
    return _consumer(links, group.group_id, member)


async def list_assignments(call: Call) -> Any:
    """Return the partitions that a member reads."""
    links = await links_of(call)
    group, member = await find_member(call)
    data = [_assignment(links, group.group_id, member, each) for each in member.assignment]
    where = ("consumer-groups", group.group_id, "consumers", member.member_id, "assignments")
    return links.listed("KafkaConsumerAssignmentList", data, *where)


async def get_assignment(call: Call) -> ConsumerAssignmentData:
    """Return one partition that a member reads."""
    links = await links_of(call)
    group, member = await find_member(call)
    at = TopicPartition(call.path["topic_name"], call.number("partition_id"))
    if at not in member.assignment:
        raise HttpError(404, f"that member does not read {at}", code=404)
    return _assignment(links, group.group_id, member, at)


def _group(links: Links, group: GroupDescription) -> ConsumerGroupData:
    where = ("consumer-groups", group.group_id)
    return ConsumerGroupData(
        kind="KafkaConsumerGroup",
        metadata=links.metadata(f"/consumer-group={group.group_id}", *where),
        cluster_id=links.cluster_id,
        consumer_group_id=group.group_id,
        is_simple=not group.protocol_type,
        partition_assignor=group.assignor,
        state=state_name(group.state),
        type=group.type.upper(),
        is_mixed_consumer_group=len({each.upgraded for each in group.members}) > 1,
        coordinator=links.to("brokers", group.coordinator.id),
        consumers=links.to(*where, "consumers"),
        lag_summary=links.to(*where, "lag-summary"),
    )


def state_name(state: str) -> str:
    """PreparingRebalance becomes PREPARING_REBALANCE."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", state).upper() or "UNKNOWN"


def _consumer(links: Links, group: str, member: MemberDescription) -> ConsumerData:
    where = ("consumer-groups", group, "consumers", member.member_id)
    return ConsumerData(
        kind="KafkaConsumer",
        metadata=links.metadata(f"/consumer-group={group}/consumer={member.member_id}", *where),
        cluster_id=links.cluster_id,
        consumer_group_id=group,
        consumer_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        assignments=links.to(*where, "assignments"),
    )


def _assignment(
    links: Links, group: str, member: MemberDescription, at: TopicPartition
) -> ConsumerAssignmentData:
    place = (at.topic, "partitions", at.partition)
    where = ("consumer-groups", group, "consumers", member.member_id, "assignments", *place)
    crn = f"/consumer-group={group}/consumer={member.member_id}/assignment={at.topic}/partition={at.partition}"
    return ConsumerAssignmentData(
        kind="KafkaConsumerAssignment",
        metadata=links.metadata(crn, *where),
        cluster_id=links.cluster_id,
        consumer_group_id=group,
        consumer_id=member.member_id,
        topic_name=at.topic,
        partition_id=at.partition,
        partition=links.to("topics", *place),
        lag=links.to("consumer-groups", group, "lags", *place),
    )


_MEMBER: Final = f"{GROUP}/consumers/{{consumer_id}}"
_ASSIGNMENT: Final = f"{_MEMBER}/assignments/{{topic_name}}/partitions/{{partition_id}}"
_TAG: Final = "Consumer group"
ROUTES: Final = (
    route("GET", f"{CLUSTER}/consumer-groups", list_groups, "List consumer groups", _TAG,
          answer=list_of(ConsumerGroupData)),
    route("GET", GROUP, get_group, "Get a consumer group", _TAG, answer=ConsumerGroupData),
    route("GET", f"{GROUP}/consumers", list_consumers, "List the members of a group", _TAG,
          answer=list_of(ConsumerData)),
    route("GET", _MEMBER, get_consumer, "Get a member of a group", _TAG, answer=ConsumerData),
    route("GET", f"{_MEMBER}/assignments", list_assignments, "List what a member reads", _TAG,
          answer=list_of(ConsumerAssignmentData)),
    route("GET", _ASSIGNMENT, get_assignment, "Get a partition that a member reads", _TAG,
          answer=ConsumerAssignmentData),
)  # fmt: skip
