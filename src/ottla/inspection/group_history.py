"""Asks a broker for the history of a group (DescribeGroupHistory, which ottla alone serves)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.errors import UnsupportedByBroker, check
from ottla.protocol.apis.describe_group_history import (
    DescribeGroupHistoryRequest,
    GroupCommits,
    GroupHistory,
)

if TYPE_CHECKING:
    from ottla.client.admin import Admin

MOVER: Final = "ottla-groups"
"""How the client ids of whoever moves offsets on purpose begin: what they did can be told from reading on."""


class NoHistory(OttlaError):
    """The broker is not ottla, and remembers nothing."""


async def group_history(admin: Admin, group: str) -> GroupHistory:
    """What became of a group and its offsets lately."""
    request = DescribeGroupHistoryRequest(group_ids=[group])
    try:
        [found] = (await admin.cluster.ask_coordinator(group, request)).groups
    except UnsupportedByBroker:
        raise NoHistory(
            "this broker keeps no history of groups: it is not ottla. Offsets can be moved by hand "
            f"with `ottla groups reset {group}`"
        ) from None
    history: GroupHistory = found
    check(history.error_code, history.error_message)
    return history


def moves_of(commits: GroupCommits) -> dict[TopicPartition, tuple[int, int]]:
    """Where offsets were before an act, and after it."""
    return {
        TopicPartition(topic.name, each.partition_index): (each.offset_before, each.offset_after)
        for topic in commits.topics
        for each in topic.partitions
    }


def last_move(history: GroupHistory) -> GroupCommits | None:
    """The newest act on a group's offsets that is worth undoing.

    What only went forward is what consumers do all day, unless somebody did it on purpose.
    """
    moved = [
        each
        for each in history.commits
        if not each.only_forward or each.client_id.startswith(MOVER)
    ]
    return moved[-1] if moved else None
