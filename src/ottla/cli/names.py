"""Finds topics and groups by name; of one that is not there, says which one may be meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.cli.parsing import did_you_mean
from ottla.inspection.group_history import group_history
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.groups import GroupDescription
    from ottla.client.view import Topic
    from ottla.protocol.apis.describe_group_history import GroupHistory


class NotThere(OttlaError):
    """What was named does not exist."""


async def find_topics(admin: Admin, names: Iterable[str]) -> dict[str, Topic]:
    """Topics by name; NotThere names the first that does not exist."""
    found = {}
    for name, topic in (await admin.describe_topics(names)).items():
        if not isinstance(topic, ApiError):
            found[name] = topic
        elif topic.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            others = await admin.list_topics()
            hint = did_you_mean(name, others) or f"; `ottla topics create {name}` makes one"
            raise NotThere(f"there is no topic {name}{hint}")
        else:
            raise ApiError(topic.code, f"topic {name}: {topic}")
    return found


async def find_topic(admin: Admin, name: str) -> Topic:
    """A topic by name."""
    return (await find_topics(admin, [name]))[name]


async def find_groups(admin: Admin, names: Iterable[str]) -> dict[str, GroupDescription]:
    """Groups by name; NotThere names the first that does not exist."""
    found = {}
    for name, group in (await admin.describe_groups(names)).items():
        if not isinstance(group, ApiError):
            found[name] = group
        elif group.code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise await no_group(admin, name)
        else:
            raise ApiError(group.code, f"group {name}: {group}")
    return found


async def find_group(admin: Admin, name: str) -> GroupDescription:
    """A group by name."""
    return (await find_groups(admin, [name]))[name]


async def no_group(admin: Admin, name: str) -> NotThere:
    """What to say of a group that does not exist."""
    others = [each.group_id for each in await admin.list_groups()]
    hint = did_you_mean(name, others) or "; `ottla groups list` shows what there is"
    return NotThere(f"there is no group {name}{hint}")


async def history_of(admin: Admin, group: str) -> GroupHistory:
    """What became of a group and its offsets lately; NotThere if there was none of this name."""
    try:
        return await group_history(admin, group)
    except ApiError as refusal:
        if refusal.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        raise await no_group(admin, group) from None


def chosen_partitions(topic: Topic, numbers: Sequence[int] | None) -> list[TopicPartition]:
    """The partitions with these numbers, or all."""
    there = [each.index for each in topic.partitions]
    for number in numbers or ():
        if number not in there:
            shown = f"partitions 0 to {there[-1]}" if len(there) > 1 else "partition 0 alone"
            raise NotThere(f"topic {topic.name} has no partition {number}; it has {shown}")
    return [TopicPartition(topic.name, number) for number in (numbers or there)]


def partition_numbers(text: str) -> list[int]:
    """Numbers as in 0,2,4; ValueError for anything else."""
    numbers = [int(part) for part in text.split(",")]
    if any(number < 0 for number in numbers):
        raise ValueError(text)
    return numbers
