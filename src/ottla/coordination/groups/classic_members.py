"""Pure: members of a consumer group that still speak the classic protocol: join, sync, heartbeat and leave for them.

A group moves from one protocol to the other one client at a time. The coordinator assigns for everybody: an old client
joins, is never the leader, and its sync returns what it owns. It learns from heartbeats that it has to join again, says
in its subscription what it still owns, and has its rebalance time-out to do so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ottla.base.errors import ApiError, ProtocolError
from ottla.coordination.decision import Decision, Token, refuse
from ottla.coordination.groups import answers, consumer_heartbeat
from ottla.coordination.groups.classic import FIRST_WITH_MEMBER_ID_REQUIRED
from ottla.coordination.groups.consumer_draft import Draft, check_instance
from ottla.coordination.groups.consumer_member import ClassicSide, Member, MemberState
from ottla.coordination.groups.downgrade import classic_assignment
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.members import Protocols, protocols_of
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.apis.leave_group import MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.protocol.consumer_protocol import CONSUMER, Subscription, decode_subscription
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordination.groups.consumer import ConsumerGroup

_REJOIN, _RESYNC = "rejoin", "resync"
_UNKNOWN_TIMEOUT_MS: Final = -1


def join(
    group: ConsumerGroup, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int
) -> Decision:
    """Join, or say what has changed; answered with a JoinGroupResponse."""
    try:
        return _join(group, request, caller, token, now_ms)
    except ApiError as refused:
        return refuse(token, refused.code, str(refused))


def _join(
    group: ConsumerGroup, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int
) -> Decision:
    member_id = request.member_id or caller.fresh_id
    protocols = protocols_of(request)
    group.refuse_if_full(member_id)
    if not _can_join_with(group, request.protocol_type, protocols):
        return refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    is_dynamic = request.group_instance_id is None
    if not request.member_id and is_dynamic and caller.version >= FIRST_WITH_MEMBER_ID_REQUIRED:
        return Decision(replies=((token, answers.member_id_required(member_id)),))
    subscription = _subscription(protocols)
    draft = Draft(group, now_ms)
    before = _find(draft, request, member_id)
    after = _updated(before, request, caller, subscription, protocols)
    changed = draft.introduce(before, after)
    draft.replaced()
    draft.refresh(draft.introduced(before, changed=changed))
    draft.assign()
    member = draft.settle(after, _claimed(group, subscription), changed=changed)
    if before.member_id not in group.members:
        group.history.note(group.group_id, now_ms, "joined", member_id, request.reason or "")
    group.timers.cancel((_REJOIN, group.group_id, member_id))
    group.watch_revocation(member, now_ms)
    group.extend_session(member, now_ms)
    deadline_ms = now_ms + member.rebalance_timeout_ms
    group.timers.schedule((_RESYNC, group.group_id, member_id), deadline_ms)
    answer = JoinGroupResponse(
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=protocols[0][0],
        member_id=member_id,
    )
    return Decision(draft.records, ((token, answer),), undo=group.not_written, replay=draft.replay)


def _can_join_with(group: ConsumerGroup, protocol_type: str, protocols: Protocols) -> bool:
    """Whether all other classic members can do one of these: they may be among themselves one day."""
    others = [member.classic.protocols for member in group.members.values() if member.classic]
    names = {name for name, _ in protocols}
    for each in others:
        names &= {name for name, _ in each}
    return protocol_type == CONSUMER and bool(names)


def _subscription(protocols: Protocols) -> Subscription:
    """What the member wants; all its protocols say the same."""
    try:
        return decode_subscription(protocols[0][1])
    except ProtocolError as malformed:
        raise ApiError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the subscription cannot be read: {malformed}"
        ) from malformed


def _find(draft: Draft, request: JoinGroupRequest, member_id: str) -> Member:
    """The member as it was before; one that has no id yet is made, or takes the place of its former self."""
    group, instance_id = draft.group, request.group_instance_id
    if instance_id is None:
        return group.members.get(member_id) or Member(member_id=member_id)
    static = group.static_member(instance_id)
    if request.member_id:
        return check_instance(static, member_id, instance_id)
    if static is None:
        return Member(member_id=member_id)
    return draft.take_over(static, member_id)


def _updated(
    before: Member,
    request: JoinGroupRequest,
    caller: Caller,
    subscription: Subscription,
    protocols: Protocols,
) -> Member:
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if rebalance_timeout_ms == _UNKNOWN_TIMEOUT_MS:
        rebalance_timeout_ms = request.session_timeout_ms
    return before._replace(
        instance_id=request.group_instance_id or before.instance_id,
        rack_id=subscription.rack or before.rack_id,
        rebalance_timeout_ms=rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        pattern="",
        client_id=caller.client_id,
        client_host=caller.host,
        classic=ClassicSide(request.session_timeout_ms, protocols),
    )


def _claimed(group: ConsumerGroup, subscription: Subscription) -> Mapping[UUID, Collection[int]]:
    topics = group.image.topics
    return {
        topics[each.topic].topic_id: each.partitions
        for each in subscription.owned_partitions
        if each.topic in topics
    }


def sync(group: ConsumerGroup, request: SyncGroupRequest, token: Token, now_ms: int) -> Decision:
    """Fetch what the member owns; answered with a SyncGroupResponse."""
    try:
        member = _check(group, request.member_id, request.group_instance_id, request.generation_id)
    except ApiError as refused:
        return refuse(token, refused.code, str(refused))
    protocol = member.classic.protocols[0][0] if member.classic is not None else ""
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (
        None,
        protocol,
    ):
        return refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        _expect_join(group, member, now_ms)
        return refuse(token, ErrorCode.REBALANCE_IN_PROGRESS)
    group.timers.cancel((_RESYNC, group.group_id, member.member_id))
    group.extend_session(member, now_ms)
    answer = SyncGroupResponse(
        protocol_type=CONSUMER,
        protocol_name=protocol,
        assignment=classic_assignment(member, group.image),
    )
    return Decision(replies=((token, answer),))


def heartbeat(
    group: ConsumerGroup, request: HeartbeatRequest, token: Token, now_ms: int
) -> Decision:
    """The member lives; answered with an error code, which tells it when to join again."""
    try:
        member = _check(group, request.member_id, request.group_instance_id, request.generation_id)
    except ApiError as refused:
        return refuse(token, refused.code, str(refused))
    group.extend_session(member, now_ms)
    if not _must_join(group, member):
        return Decision(replies=((token, ErrorCode.NONE),))
    _expect_join(group, member, now_ms)
    return Decision(replies=((token, ErrorCode.REBALANCE_IN_PROGRESS),))


def _must_join(group: ConsumerGroup, member: Member) -> bool:
    if member.epoch < group.epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if member.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    # Once others have given up what it shall own, it has to come and get it.
    wanted = (
        (topic_id, partition)
        for topic_id, partitions in group.target_for(member).items()
        for partition in partitions
        if partition not in member.assigned.get(topic_id, {})
    )
    return not any(group.has_owner(topic_id, partition) for topic_id, partition in wanted)


def _expect_join(group: ConsumerGroup, member: Member, now_ms: int) -> None:
    key = (_REJOIN, group.group_id, member.member_id)
    if group.timers.deadline_ms(key) is None:
        group.timers.schedule(key, now_ms + member.rebalance_timeout_ms)


def _check(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> Member:
    """The classic member who asks; ApiError if it is none, or not in this generation."""
    if instance_id is None:
        member = group.known_member(member_id)
    else:
        member = check_instance(group.static_member(instance_id), member_id, instance_id)
    if member.classic is None:
        raise ApiError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    if member.epoch != generation:
        raise ApiError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation} is not equal to the member epoch {member.epoch} of member "
            f"{member_id}.",
        )
    return member


def leave(
    group: ConsumerGroup, members: Sequence[MemberIdentity], token: Token, now_ms: int
) -> Decision:
    """Members of either protocol go; answered with an error code for each."""
    errors, leaving = [], dict[str, Member]()
    for identity in members:
        try:
            member = _leaving(group, identity)
        except ApiError as refused:
            errors.append(refused.code)
            continue
        errors.append(ErrorCode.NONE)
        leaving[member.member_id] = member
        group.history.note(group.group_id, now_ms, "left", member.member_id, identity.reason or "")
    return consumer_heartbeat.fence(group, list(leaving.values()), ((token, errors),), now_ms)


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> Member:
    if identity.group_instance_id is None:
        return group.known_member(identity.member_id)
    static = group.static_member(identity.group_instance_id)
    # An administrator may name the instance alone.
    member_id = identity.member_id or (static.member_id if static is not None else "")
    return check_instance(static, member_id, identity.group_instance_id)
