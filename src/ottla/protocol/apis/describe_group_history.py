"""Pure: DescribeGroupHistory (api 10100, ottla's own): what became of groups and their offsets lately.

All lists begin with the oldest. Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    blob,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class DescribeGroupHistoryRequest(Request, key=ApiKey.DESCRIBE_GROUP_HISTORY):
    """The groups that somebody wants to know about."""

    group_ids: list[str] = array(string)


class GroupEvent(Struct):
    """An element of DescribeGroupHistoryResponse.groups.events: a member came or went, the group rebalanced, ..."""

    timestamp_ms: int = int64()
    what: str = string()
    member_id: str = string()
    detail: str = string()


class GroupOwner(Struct):
    """An element of DescribeGroupHistoryResponse.groups.generations.owners; it decodes its assignment itself."""

    member_id: str = string()
    group_instance_id: str | None = string(None, nullable=True)
    client_id: str = string()
    client_host: str = string()
    assignment: bytes = blob()


class GroupGeneration(Struct):
    """An element of DescribeGroupHistoryResponse.groups.generations: who owned what, from when on."""

    timestamp_ms: int = int64()
    generation: int = int32()
    protocol_type: str = string()
    protocol: str = string()
    owners: list[GroupOwner] = array(GroupOwner)


class PartitionMove(Struct):
    """An element of DescribeGroupHistoryResponse.groups.commits.topics.partitions; -1 where there was no offset."""

    partition_index: int = int32()
    offset_before: int = int64(-1)
    offset_after: int = int64(-1)


class TopicMoves(Struct):
    """An element of DescribeGroupHistoryResponse.groups.commits.topics."""

    name: str = string()
    partitions: list[PartitionMove] = array(PartitionMove)


class GroupCommits(Struct):
    """An element of DescribeGroupHistoryResponse.groups.commits: one act on the offsets, or a run of like ones.

    `action` is "commit", "transaction", "delete", "expire" or "topic deleted"; who did it is empty when it is not
    known. `only_forward` is true of what consumers do all day: anything else is worth undoing.
    """

    first_ms: int = int64()
    last_ms: int = int64()
    count: int = int32()
    action: str = string()
    member_id: str = string()
    client_id: str = string()
    producer_id: int = int64(-1)
    only_forward: bool = boolean()
    topics: list[TopicMoves] = array(TopicMoves)


class GroupHistory(Struct):
    """An element of DescribeGroupHistoryResponse.groups."""

    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    group_id: str = string()
    events: list[GroupEvent] = array(GroupEvent)
    generations: list[GroupGeneration] = array(GroupGeneration)
    commits: list[GroupCommits] = array(GroupCommits)


class DescribeGroupHistoryResponse(Response, key=ApiKey.DESCRIBE_GROUP_HISTORY):
    """What is known of each of them."""

    throttle_time_ms: int = int32()
    groups: list[GroupHistory] = array(GroupHistory)
