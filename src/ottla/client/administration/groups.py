"""Groups: list them, look into them, delete them, send members away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ottla.base.errors import ApiError, ProtocolError
from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Administration, Outcome, gathered, outcome, tried
from ottla.client.errors import UnsupportedByBroker, api_error, check
from ottla.client.view import NOT_TOLD, Node
from ottla.protocol.apis import consumer_group_describe, describe_groups
from ottla.protocol.apis.delete_groups import DeleteGroupsRequest
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.apis.list_groups import ListGroupsRequest
from ottla.protocol.consumer_protocol import (
    CONSUMER,
    decode_assignment,
    decode_subscription,
)
from ottla.protocol.errors import ErrorCode

CLASSIC_TYPE: Final = "Classic"
CONSUMER_TYPE: Final = "Consumer"
DEAD: Final = "Dead"
_NOT_OF_THIS_TYPE: Final = (
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNSUPPORTED_VERSION,
)


class GroupListing(NamedTuple):
    """A group in a list; state and type are empty where the broker is too old to tell them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class MemberDescription(NamedTuple):
    """A member of a group; what it reads is empty where its group does not consist of consumers."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...] = ()
    target_assignment: tuple[TopicPartition, ...] | None = None
    subscribed_topics: tuple[str, ...] = ()
    subscribed_regex: str | None = None
    rack: str | None = None
    epoch: int | None = None
    upgraded: bool | None = None
    metadata: bytes = b""
    assignment_data: bytes = b""


class GroupDescription(NamedTuple):
    """A group; epochs are None in a classic one, `assignor` is the protocol its members chose."""

    group_id: str
    type: str
    protocol_type: str
    state: str
    assignor: str
    coordinator: Node
    members: tuple[MemberDescription, ...]
    epoch: int | None = None
    assignment_epoch: int | None = None
    authorized_operations: int = NOT_TOLD


class LeavingMember(NamedTuple):
    """Whom to send away: a static member by its instance id, or another by its member id."""

    instance_id: str | None = None
    member_id: str = ""


class Groups(Administration):
    """Administration of groups."""

    async def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        protocol_types: Iterable[str] = (),
    ) -> list[GroupListing]:
        """All groups, or those in one of the states and of one of the types."""
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        kept = frozenset(protocol_types)
        listed = await self.cluster.retried(lambda: self._list(request))
        found = {each.group_id: each for each in listed}
        return [found[key] for key in sorted(found) if not kept or found[key].protocol_type in kept]

    async def describe_groups(
        self, group_ids: Iterable[str], *, include_authorized_operations: bool = False
    ) -> dict[str, Outcome[GroupDescription]]:
        """Groups of either protocol with their members."""
        wanted = sorted(set(group_ids))
        operations = include_authorized_operations
        answers = await gathered(tried(self._describe(group, operations)) for group in wanted)
        return dict(zip(wanted, answers, strict=True))

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Outcome[None]]:
        """Delete groups that have no members, with their offsets."""
        wanted = sorted(set(group_ids))
        answers = await gathered(tried(self._delete(group_id)) for group_id in wanted)
        return dict(zip(wanted, answers, strict=True))

    async def remove_members(
        self, group_id: str, members: Iterable[LeavingMember] | None = None, *, reason: str = ""
    ) -> dict[LeavingMember, Outcome[None]]:
        """Send members of a classic group away, with None all of them."""
        leaving = await self._everybody(group_id) if members is None else list(members)
        if not leaving:
            return {}
        identities = [
            MemberIdentity(
                member_id=each.member_id, group_instance_id=each.instance_id, reason=reason or None
            )
            for each in leaving
        ]
        request = LeaveGroupRequest(group_id=group_id, members=identities)
        response = await self.cluster.ask_coordinator(group_id, request)
        check(response.error_code)
        return {
            LeavingMember(each.group_instance_id, each.member_id): outcome(
                each.error_code, None, None
            )
            for each in response.members
        }

    async def _list(self, request: ListGroupsRequest) -> list[GroupListing]:
        found = []
        for answer in (await self.ask_brokers(request)).values():
            # A coordinator that is loading does not know its groups yet.
            check(answer.error_code)
            found += [
                GroupListing(each.group_id, each.protocol_type, each.group_state, each.group_type)
                for each in answer.groups
            ]
        return found

    async def _delete(self, group_id: str) -> None:
        request = DeleteGroupsRequest(groups_names=[group_id])
        [result] = (await self.cluster.ask_coordinator(group_id, request)).results
        check(result.error_code)

    async def _everybody(self, group_id: str) -> list[LeavingMember]:
        found = (await self.describe_groups([group_id]))[group_id]
        if isinstance(found, ApiError):
            raise found
        # A static member is named by its instance id alone: its member id changes when it restarts.
        return [
            LeavingMember(each.instance_id, "" if each.instance_id else each.member_id)
            for each in found.members
        ]

    async def _describe(self, group_id: str, operations: bool) -> GroupDescription:
        """As a consumer group (KIP-848) first; a broker that knows it as a classic one says so."""
        request = consumer_group_describe.ConsumerGroupDescribeRequest(
            group_ids=[group_id], include_authorized_operations=operations
        )
        try:
            [group] = (await self.cluster.ask_coordinator(group_id, request)).groups
        except UnsupportedByBroker:
            return await self._describe_classic(group_id, operations)
        if group.error_code in _NOT_OF_THIS_TYPE:
            return await self._describe_classic(group_id, operations)
        check(group.error_code, group.error_message)
        return _consumer_group(group, await self._coordinator(group_id))

    async def _describe_classic(self, group_id: str, operations: bool) -> GroupDescription:
        request = describe_groups.DescribeGroupsRequest(
            groups=[group_id], include_authorized_operations=operations
        )
        [group] = (await self.cluster.ask_coordinator(group_id, request)).groups
        check(group.error_code, group.error_message)
        if group.group_state == DEAD:  # how brokers before DescribeGroups v6 say that there is none
            raise api_error(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return _classic_group(group, await self._coordinator(group_id))

    async def _coordinator(self, group_id: str) -> Node:
        return self.cluster.view.brokers[await self.cluster.coordinator(group_id)]


def _consumer_group(
    group: consumer_group_describe.DescribedGroup, coordinator: Node
) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        CONSUMER_TYPE,
        CONSUMER,
        group.group_state,
        group.assignor_name,
        coordinator,
        tuple(map(_consumer_member, group.members)),
        group.group_epoch,
        group.assignment_epoch,
        group.authorized_operations,
    )


def _consumer_member(member: consumer_group_describe.Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        _partitions(member.assignment),
        _partitions(member.target_assignment),
        tuple(member.subscribed_topic_names),
        member.subscribed_topic_regex or None,
        member.rack_id,
        member.member_epoch,
        None if member.member_type < 0 else member.member_type == 1,
    )


def _partitions(assignment: consumer_group_describe.Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(topic.topic_name, partition)
            for topic in assignment.topic_partitions
            for partition in topic.partitions
        )
    )


def _classic_group(group: describe_groups.DescribedGroup, coordinator: Node) -> GroupDescription:
    of_consumers = group.protocol_type in (CONSUMER, "")
    return GroupDescription(
        group.group_id,
        CLASSIC_TYPE,
        group.protocol_type,
        group.group_state,
        group.protocol_data,
        coordinator,
        tuple(_classic_member(member, of_consumers) for member in group.members),
        authorized_operations=group.authorized_operations,
    )


def _classic_member(
    member: describe_groups.DescribedGroupMember, of_consumers: bool
) -> MemberDescription:
    assigned: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    if of_consumers:
        assigned, topics = _assigned(member.member_assignment), _subscribed(member.member_metadata)
    return MemberDescription(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        assigned,
        subscribed_topics=topics,
        metadata=member.member_metadata,
        assignment_data=member.member_assignment,
    )


def _assigned(data: bytes) -> tuple[TopicPartition, ...]:
    try:
        found = decode_assignment(data)
    except ProtocolError:
        return ()
    every = (TopicPartition(t.topic, number) for t in found.partitions for number in t.partitions)
    return tuple(sorted(every))


def _subscribed(data: bytes) -> tuple[str, ...]:
    try:
        return tuple(sorted(decode_subscription(data).topics)) if data else ()
    except ProtocolError:
        return ()
