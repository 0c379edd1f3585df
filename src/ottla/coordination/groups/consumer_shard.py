"""Pure: how consumer groups come to be among the groups of a partition: made, converted, replayed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.base.errors import ApiError
from ottla.coordination.decision import Decision, KeyValue, Token, Undo, refuse
from ottla.coordination.groups import consumer_heartbeat, consumer_records, upgrade
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.consumer_member import JOIN_EPOCH
from ottla.coordination.groups.consumer_records import Kind
from ottla.coordination.groups.group import Caller, Group
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordination.groups.shard import GroupShard


class _Opened(NamedTuple):
    """The group that a heartbeat is for, what has to be written before, and who has to be told.

    It is `fresh` if there was none of this name.
    """

    group: ConsumerGroup
    records: list[KeyValue]
    replies: list[tuple[Token, Any]]
    fresh: bool = False


def heartbeat(
    shard: GroupShard,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    token: Token,
    now_ms: int,
) -> Decision:
    """Join, stay in or leave a group; answered with a ConsumerGroupHeartbeatResponse."""
    try:
        consumer_heartbeat.check_request(request, caller.version, shard.config)
        group = shard.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return consumer_heartbeat.heartbeat(group, request, caller, token, now_ms)
        return _begin(shard, group, request, caller, token, now_ms)
    except ApiError as refused:
        return refuse(token, refused.code, refused.message)


def _begin(
    shard: GroupShard,
    known: Group | None,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    token: Token,
    now_ms: int,
) -> Decision:
    """The first heartbeat of a consumer group, in the place of the group of this name that is known, if any."""
    opened = _open(shard, known, request)
    decided = consumer_heartbeat.heartbeat(
        opened.group, request, caller, token, now_ms, may_gather=opened.fresh
    )
    if opened.records:
        # Members that came along from a classic group begin a session here.
        opened.group.loaded(now_ms)
        kind = opened.group.type_name
        shard.history.note(request.group_id, now_ms, "converted", detail=kind)
    undo = decided.undo
    if opened.fresh and undo is not None:
        # Whoever waits in it waits for others, who have to find it.
        shard.groups[request.group_id] = opened.group
        undo = partial(_not_written, shard, request.group_id, undo)
    elif isinstance(known, ClassicGroup):
        undo = known.not_converted
    if not opened.records:
        return Decision(decided.records, decided.replies, undo=undo, replay=decided.replay)
    return Decision(
        [*opened.records, *decided.records], [*opened.replies, *decided.replies], undo=undo
    )


def _not_written(
    shard: GroupShard, group_id: str, undo: Undo, refused: ApiError, now_ms: int
) -> Decision:
    """The log did not take the first member of a group: there is no group."""
    del shard.groups[group_id]
    return undo(refused, now_ms)


def _open(
    shard: GroupShard, group: Group | None, request: ConsumerGroupHeartbeatRequest
) -> _Opened:
    group_id = request.group_id
    if request.member_epoch != JOIN_EPOCH:
        why = "not found" if group is None else "is not a consumer group"
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {why}.")
    fresh = new_group(shard, group_id)
    if not isinstance(group, ClassicGroup):
        return _Opened(fresh, [], [], fresh=True)
    records = upgrade.records(group, shard.config, shard.topics.image)
    for key, value in records:
        if value is not None:
            named = consumer_records.decode_key(key)
            decoded = consumer_records.decode_value(named.kind, value)
            fresh.replay(named.kind, named.name, decoded)
    again = ApiError(ErrorCode.REBALANCE_IN_PROGRESS, "the group moves to the consumer protocol")
    return _Opened(fresh, records, [(token, again) for token in group.parked()])


def new_group(shard: GroupShard, group_id: str) -> ConsumerGroup:
    """A consumer group without members."""
    return ConsumerGroup(
        group_id,
        shard.config,
        shard.usual_config,
        shard.timers,
        shard.arrivals,
        shard.history,
        shard.topics,
    )


def replay(shard: GroupShard, key: bytes, value: bytes | None) -> None:
    """Take in a record whose key is of KEY_VERSIONS."""
    named = consumer_records.decode_key(key)
    # Before anything changes: it may turn out to be damaged.
    decoded = None if value is None else consumer_records.decode_value(named.kind, value)
    group = shard.groups.get(named.group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:
            return
        if isinstance(group, ClassicGroup):
            # Its offsets were replayed first, and made a group that has nothing else.
            group.die()
        group = shard.groups[named.group_id] = new_group(shard, named.group_id)
    if named.kind is Kind.EPOCH and value is None:
        del shard.groups[named.group_id]
        return
    group.replay(named.kind, named.name, decoded)
