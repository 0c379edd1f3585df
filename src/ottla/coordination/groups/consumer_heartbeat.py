"""Pure: what a ConsumerGroupHeartbeat does: members join, change, stay and go, and learn what they own (KIP-848)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import Decision, Token
from ottla.coordination.groups import consumer_gathering, downgrade
from ottla.coordination.groups.consumer_draft import (
    Draft,
    check_instance,
    check_member_epoch,
    check_released,
)
from ottla.coordination.groups.consumer_member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NOTHING,
    STATIC_LEAVE_EPOCH,
    Member,
)
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordination.groups.consumer import ConsumerGroup

REFRESH_INTERVAL_MS: Final = 1000
"""Topics that change faster than this are compared with the subscriptions of a group no more often."""

_UNCHANGED_TIMEOUT: Final = -1
_FIRST_WITH_OWN_MEMBER_ID: Final = 1


def check_request(
    request: ConsumerGroupHeartbeatRequest, version: int, config: GroupsConfig
) -> None:
    """ApiError if a request is wrong in itself, whatever the group."""
    epoch = request.member_epoch
    needs_id = version >= _FIRST_WITH_OWN_MEMBER_ID or epoch > 0 or epoch == LEAVE_EPOCH
    for text, name in (
        (request.member_id if needs_id else None, "MemberId"),
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    ):
        if text is not None and not text.strip():
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    wrong = _wrong_first_request(request) if epoch == JOIN_EPOCH else ""
    if epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        wrong = "InstanceId can't be null."
    if epoch < STATIC_LEAVE_EPOCH:
        wrong = "MemberEpoch is invalid."
    if wrong:
        raise ApiError(ErrorCode.INVALID_REQUEST, wrong)
    assignors = config.group_consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(assignors)}.",
        )


def _wrong_first_request(request: ConsumerGroupHeartbeatRequest) -> str:
    if request.rebalance_timeout_ms == _UNCHANGED_TIMEOUT:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return ""


def heartbeat(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    token: Token,
    now_ms: int,
    *,
    may_gather: bool = True,
) -> Decision:
    """Join, stay in or leave a group; answered with a ConsumerGroupHeartbeatResponse, or refused by ApiError."""
    if request.member_epoch < JOIN_EPOCH:
        return _leave(group, request, token, now_ms)
    member = group.members.get(request.member_id)
    if member is not None and _stays(group, request, caller, member, now_ms):
        group.extend_session(member, now_ms)
        return Decision(replies=((token, _answer(group, member, None)),))
    group.refuse_if_full(request.member_id)
    if member is None and may_gather and _is_newcomer(request):
        return _come(group, request, caller, token, now_ms)
    draft = Draft(group, now_ms)
    claimed = _claimed(request)
    before = _find(draft, request, request.member_id or caller.fresh_id, claimed)
    gathers = (
        may_gather
        and not draft.takes_over
        and consumer_gathering.waits(group, request, before.member_id)
    )
    after = _updated(before, request, caller)
    changed = draft.introduce(before, after)
    draft.replaced()
    if before.member_id not in group.members:
        group.history.note(group.group_id, now_ms, "joined", before.member_id)
    group.extend_session(after, now_ms)
    if gathers:
        newcomer = consumer_gathering.Newcomer(request, token)
        consumer_gathering.wait(group, after.member_id, newcomer, now_ms)
        undo = partial(_not_written, group, after.member_id)
        return Decision(draft.records, undo=undo, replay=draft.replay)
    draft.refresh(draft.introduced(before, changed=changed))
    draft.assign()
    member = draft.settle(after, claimed, changed=changed)
    if member is not after:
        group.watch_revocation(member, now_ms)
    told = answer(group, request, before, member)
    return Decision(draft.records, ((token, told),), undo=group.not_written, replay=draft.replay)


def _stays(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    member: Member,
    now_ms: int,
) -> bool:
    """Whether a member is where it shall be and nothing has changed, as with nearly all heartbeats."""
    return (
        request.member_epoch == member.epoch == group.epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and (request.instance_id is None or group.static_member(request.instance_id) is member)
        and _says_nothing_new(member, request, caller)
        and not group.newcomers
        and not group.is_stale(now_ms)
    )


def _is_newcomer(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether somebody who is not known joins and is nobody's former self; whose topics are not to be looked for."""
    return (
        request.member_epoch == JOIN_EPOCH
        and request.instance_id is None
        and not request.subscribed_topic_regex
    )


def _come(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    token: Token,
    now_ms: int,
) -> Decision:
    """A newcomer is written down, and waits for others."""
    member_id = request.member_id or caller.fresh_id
    member = Member(
        member_id=member_id,
        rack_id=request.rack_id,
        client_id=caller.client_id,
        client_host=caller.host,
        topics=frozenset(request.subscribed_topic_names or ()),
        pattern=request.subscribed_topic_regex,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        server_assignor=request.server_assignor,
    )
    group.history.note(group.group_id, now_ms, "joined", member_id)
    group.extend_session(member, now_ms)
    newcomer = consumer_gathering.Newcomer(request, token)
    consumer_gathering.wait(group, member_id, newcomer, now_ms)
    return Decision(
        (member.subscription_record(group.group_id),),
        undo=partial(_not_written, group, member_id),
        replay=partial(group.place_member, member),
    )


def _not_written(group: ConsumerGroup, member_id: str, refused: ApiError, now_ms: int) -> Decision:
    """The log did not take a member, which is told why."""
    group.not_written(refused, now_ms)
    return Decision(replies=group.gathering.turn_away(member_id, refused))


def gathered(group: ConsumerGroup, now_ms: int) -> Decision:
    """Assign for all who have come, and tell them."""
    draft = Draft(group, now_ms)
    draft.refresh()
    draft.assign()
    waiting = group.gathering.waiting
    replies: list[tuple[Token, Any]] = []
    for member_id in list(waiting)[: consumer_gathering.TOLD_AT_ONCE]:
        before = group.members.get(member_id)
        if before is None:
            gone = ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} is no longer a member.")
            replies += group.gathering.turn_away(member_id, gone)
            continue
        member = draft.settle(before, NOTHING, changed=False)
        group.extend_session(member, now_ms)
        replies += [
            (token, answer(group, request, before, member))
            for request, token in waiting.pop(member_id)
        ]
    if waiting:
        group.timers.schedule((consumer_gathering.GATHER, group.group_id, ""), now_ms)
    return Decision(draft.records, replies, undo=group.not_written, replay=draft.replay)


def _find(
    draft: Draft,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    claimed: Mapping[UUID, Sequence[int]] | None,
) -> Member:
    """The member who sends this, as it was before; one that joins is made."""
    group, joins = draft.group, request.member_epoch == JOIN_EPOCH
    if request.instance_id is None:
        found = group.members.get(member_id) if joins else group.known_member(member_id)
        member = found or Member(member_id=member_id)
        check_member_epoch(member, request.member_epoch, claimed)
        return member
    static = group.static_member(request.instance_id)
    if not joins:
        static = check_instance(static, member_id, request.instance_id)
        check_member_epoch(static, request.member_epoch, claimed)
        return static
    if static is None:
        return group.members.get(member_id) or Member(member_id=member_id)
    if static.member_id == member_id and static.epoch != STATIC_LEAVE_EPOCH:
        # It lost its epoch, not its id: nobody has to make room.
        return static
    if static.classic is None:
        check_released(static, member_id)
    return draft.take_over(static, member_id)


def _updated(before: Member, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> Member:
    """The member with what it says; what it leaves out is as it was."""
    if _says_nothing_new(before, request, caller):
        return before
    names = request.subscribed_topic_names
    return before._replace(
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms
        if request.rebalance_timeout_ms == _UNCHANGED_TIMEOUT
        else request.rebalance_timeout_ms,
        server_assignor=before.server_assignor
        if request.server_assignor is None
        else request.server_assignor,
        topics=before.topics if names is None else frozenset(names),
        pattern=before.pattern
        if request.subscribed_topic_regex is None
        else request.subscribed_topic_regex,
        client_id=caller.client_id,
        client_host=caller.host,
        classic=None,
    )


def _says_nothing_new(
    before: Member, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> bool:
    """Whether a request says of its sender only that it lives, and what it owns: nearly all are of this kind."""
    return (
        request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == _UNCHANGED_TIMEOUT
        and request.server_assignor is None
        and request.rack_id is None
        and request.instance_id in (None, before.instance_id)
        and before.classic is None
        and (before.client_id, before.client_host) == (caller.client_id, caller.host)
    )


def _claimed(request: ConsumerGroupHeartbeatRequest) -> Mapping[UUID, Sequence[int]] | None:
    if request.topic_partitions is None:
        return None
    return {each.topic_id: each.partitions for each in request.topic_partitions}


def answer(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, before: Member, member: Member
) -> ConsumerGroupHeartbeatResponse:
    """The assignment is told when it has changed, and to who asks for all (because an answer may be lost)."""
    is_full = (
        request.rebalance_timeout_ms != _UNCHANGED_TIMEOUT
        and (request.subscribed_topic_names, request.subscribed_topic_regex) != (None, None)
        and request.topic_partitions is not None
    )
    assignment = None
    if request.member_epoch == JOIN_EPOCH or is_full or _differ(before, member):
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=list(partitions))
                for topic_id, partitions in member.assigned.items()
            ]
        )
    return _answer(group, member, assignment)


def _answer(
    group: ConsumerGroup, member: Member, assignment: Assignment | None
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group.own_config.consumer_heartbeat_interval_ms,
        assignment=assignment,
    )


def _differ(before: Member, after: Member) -> bool:
    """Whether the partitions are others; since when they are owned does not matter to the member."""
    if before.assigned is after.assigned:
        return False
    partitions = {topic_id: set(found) for topic_id, found in before.assigned.items()}
    return partitions != {topic_id: set(found) for topic_id, found in after.assigned.items()}


def _leave(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, token: Token, now_ms: int
) -> Decision:
    member_id, instance_id = request.member_id, request.instance_id
    if instance_id is None:
        member = group.known_member(member_id)
    else:
        member = check_instance(group.static_member(instance_id), member_id, instance_id)
    told = ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=request.member_epoch)
    replies: list[tuple[Token, Any]] = [(token, told)]
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        # Its session runs on: if nobody takes the place in time, it is given up.
        group.timers.cancel(("revoke", group.group_id, member_id))
        records = [member.released().current_record(group.group_id)]
        return Decision(records, replies, undo=group.not_written)
    group.history.note(group.group_id, now_ms, "left", member_id)
    gone = ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} has left.")
    replies += group.gathering.turn_away(member_id, gone)
    return fence(group, [member], replies, now_ms)


def fence(
    group: ConsumerGroup,
    members: Sequence[Member],
    replies: Sequence[tuple[Token, Any]],
    now_ms: int,
) -> Decision:
    """Remove members: the others get a new epoch, or, if all of them are classic, a classic group."""
    if not members:
        return Decision(replies=replies)
    if not downgrade.is_due(group, members):
        return _remove(group, members, replies, now_ms)
    for member in members:
        group.cancel_timers(member.member_id)
    records = downgrade.records(group, members, now_ms)
    return Decision(records, replies, undo=partial(_not_downgraded, group, members))


def _remove(
    group: ConsumerGroup,
    members: Sequence[Member],
    replies: Sequence[tuple[Token, Any]],
    now_ms: int,
) -> Decision:
    for member in members:
        group.cancel_timers(member.member_id)
    draft = Draft(group, now_ms)
    draft.remove(members)
    draft.refresh(f"{', '.join(member.member_id for member in members)} left")
    return Decision(draft.records, replies, undo=group.not_written, replay=draft.replay)


def _not_downgraded(
    group: ConsumerGroup, members: Sequence[Member], refused: ApiError, now_ms: int
) -> Decision:
    """The log did not take the classic group, all of which is one record: the others stay in this one."""
    group.not_written(refused, now_ms)
    return _remove(group, members, (), now_ms)
