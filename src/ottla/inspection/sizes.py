"""What partitions hold: where they begin and end, how many records and bytes that is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.offsets import EARLIEST, LATEST

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.view import Topic


class Span(NamedTuple):
    """The first offset of a partition, and the one behind its last."""

    begin: int
    end: int


async def spans(
    admin: Admin, partitions: Iterable[TopicPartition], *, read_committed: bool = False
) -> dict[TopicPartition, Span]:
    """Where partitions begin and end; those that nobody leads are left out."""
    wanted = list(partitions)
    first = await admin.list_offsets(dict.fromkeys(wanted, EARLIEST))
    last = await admin.list_offsets(dict.fromkeys(wanted, LATEST), read_committed=read_committed)
    found = {}
    for at in wanted:
        begin, end = first[at], last[at]
        if not isinstance(begin, ApiError) and not isinstance(end, ApiError):
            found[at] = Span(begin.offset, end.offset)
    return found


async def record_counts(admin: Admin, topics: Iterable[Topic]) -> dict[TopicPartition, int]:
    """How many offsets lie in each partition: no more records than that."""
    led = [
        TopicPartition(topic.name, each.index)
        for topic in topics
        for each in topic.partitions
        if each.leader >= 0
    ]
    return {at: span.end - span.begin for at, span in (await spans(admin, led)).items()}


async def partition_sizes(admin: Admin) -> dict[TopicPartition, int]:
    """Bytes on disk of each partition; of several replicas the largest."""
    sizes: dict[TopicPartition, int] = {}
    for dirs in (await admin.describe_log_dirs()).values():
        for found in dirs.values():
            if isinstance(found, ApiError):
                continue
            for at, replica in found.replicas.items():
                sizes[at] = max(sizes.get(at, 0), replica.size_bytes)
    return sizes
