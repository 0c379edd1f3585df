"""Asks a broker for the history of a group (DescribeGroupHistory, which ottla alone serves)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.cli.names import no_group
from ottla.client.errors import UnsupportedByBroker, check
from ottla.protocol.apis.describe_group_history import (
    DescribeGroupHistoryRequest,
    GroupCommits,
    GroupHistory,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin


async def group_history(admin: Admin, group: str) -> GroupHistory:
    """What became of a group and its offsets lately."""
    request = DescribeGroupHistoryRequest(group_ids=[group])
    try:
        [found] = (await admin.cluster.ask_coordinator(group, request)).groups
    except UnsupportedByBroker:
        raise OttlaError(
            "this broker keeps no history of groups: it is not ottla. Offsets can be moved by hand "
            f"with `ottla groups reset {group}`"
        ) from None
    history: GroupHistory = found
    if history.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise await no_group(admin, group)
    check(history.error_code, history.error_message)
    return history


def moves_of(commits: GroupCommits) -> dict[TopicPartition, tuple[int, int]]:
    """Where offsets were before an act, and after it."""
    return {
        TopicPartition(topic.name, each.partition_index): (each.offset_before, each.offset_after)
        for topic in commits.topics
        for each in topic.partitions
    }
