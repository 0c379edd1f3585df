"""Pure: what is known of a group's past, as it is answered: events, generations and what became of its offsets."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from ottla.base.errors import ApiError
from ottla.coordination.groups.history import Generation
from ottla.coordination.groups.offset_history import Entry
from ottla.protocol.apis.describe_group_history import (
    GroupCommits,
    GroupEvent,
    GroupGeneration,
    GroupHistory,
    GroupOwner,
    PartitionMove,
    TopicMoves,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordination.groups.shard import GroupShard

_NO_OFFSET: Final = -1


def tell(shard: GroupShard, group_id: str) -> GroupHistory | ApiError:
    """The past of a group, which need not exist any more; an error if nothing was ever heard of it."""
    events, generations = shard.history.events(group_id), shard.history.generations(group_id)
    entries = shard.offsets.history.of(group_id)
    if not (events or generations or entries or group_id in shard.groups):
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    return GroupHistory(
        group_id=group_id,
        events=[
            GroupEvent(
                timestamp_ms=event.at_ms,
                what=event.what,
                member_id=event.member_id,
                detail=event.detail,
            )
            for event in events
        ],
        generations=[_generation(generation) for generation in generations],
        commits=[_commits(entry) for entry in entries],
    )


def _generation(generation: Generation) -> GroupGeneration:
    return GroupGeneration(
        timestamp_ms=generation.at_ms,
        generation=generation.generation,
        protocol_type=generation.protocol_type,
        protocol=generation.protocol,
        owners=[
            GroupOwner(
                member_id=owner.member_id,
                group_instance_id=owner.instance_id,
                client_id=owner.client_id,
                client_host=owner.client_host,
                assignment=owner.assignment,
            )
            for owner in generation.owners
        ],
    )


def _commits(entry: Entry) -> GroupCommits:
    topics: dict[str, list[PartitionMove]] = {}
    for (topic, partition), moved in sorted(entry.moves.items(), key=itemgetter(0)):
        move = PartitionMove(
            partition_index=partition,
            offset_before=_NO_OFFSET if moved.before is None else moved.before,
            offset_after=_NO_OFFSET if moved.after is None else moved.after,
        )
        topics.setdefault(topic, []).append(move)
    return GroupCommits(
        first_ms=entry.first_ms,
        last_ms=entry.last_ms,
        count=entry.commits,
        action=entry.author.action,
        member_id=entry.author.member_id,
        client_id=entry.author.client_id,
        producer_id=entry.author.producer_id,
        only_forward=entry.is_walk,
        topics=[TopicMoves(name=name, partitions=moves) for name, moves in topics.items()],
    )
