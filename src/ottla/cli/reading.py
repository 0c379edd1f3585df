"""Reads topics for commands: from where a person says, to the end as it is now, or on and on."""

from __future__ import annotations

import argparse
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ottla.base.ids import TopicPartition
from ottla.cli.connect import asked, assignments, client_settings, known_to
from ottla.cli.names import chosen_partitions, find_topic, partition_numbers
from ottla.cli.parsing import UsageError
from ottla.cli.time_arguments import duration_ms, moment_ms
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.consumer_settings import ConsumerSettings
from ottla.inspection.filters import FilterError, compiled

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.consumer_record import ConsumerRecord

_POLL_S: Final = 1.0
_SETTINGS: Final[dict[str, Any]] = {
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": "false",
    "max.poll.records": "5000",
    "isolation.level": "read_committed",
}


def add_start_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to begin, and in which partitions."""
    parser.add_argument(
        "-p", "--partition", type=_numbers, metavar="0,1", help="only these partitions"
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--from-beginning", action="store_true", help="from the first record on")
    start.add_argument(
        "--offset", type=int, metavar="N", help="from this offset on; -N for the last N of each"
    )
    start.add_argument(
        "--since", type=since, metavar="TIME", help="from 1h ago, or from 2026-01-31T12:00 on"
    )


def add_where_argument(parser: argparse.ArgumentParser) -> None:
    """--where, which `tail` and `export` have."""
    parser.add_argument("-w", "--where", metavar="FILTER", help="only records that match")


def add_isolation_argument(parser: argparse.ArgumentParser) -> None:
    """--isolation-level, which `tail` and `export` have: what was aborted, or is open, must not look like written."""
    parser.add_argument(
        "--isolation-level",
        choices=("read_committed", "read_uncommitted"),
        help="read_uncommitted also shows records of transactions that are open or were aborted "
        "(default: read_committed)",
    )


def chosen_filter(arguments: argparse.Namespace) -> Callable[[Any], bool] | None:
    """The filter of --where."""
    if not arguments.where:
        return None
    try:
        return compiled(arguments.where)
    except FilterError as flaw:
        raise UsageError(f"--where: {flaw}") from None


def since(text: str) -> int:
    """A time in ms, given as a time or as a duration that has passed since; for argparse."""
    try:
        return round(time.time() * 1000) - duration_ms(text)
    except argparse.ArgumentTypeError:
        return moment_ms(text)


def _numbers(text: str) -> list[int]:
    try:
        return partition_numbers(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"write partitions as 0,1, not {text}") from None


async def partitions_to_read(arguments: argparse.Namespace) -> list[TopicPartition]:
    """The partitions that are meant; a topic that is not there is refused before anything is read."""

    async def find(admin: Admin) -> list[TopicPartition]:
        topic = await find_topic(admin, arguments.topic)
        return chosen_partitions(topic, arguments.partition)

    return await asked(arguments, find)


def consumer_for(arguments: argparse.Namespace) -> AsyncConsumer:
    """A consumer outside of any group."""
    own = assignments(arguments.client_settings, "-X")
    settings = known_to(ConsumerSettings, client_settings(arguments), *own)
    if arguments.isolation_level is not None:
        settings["isolation.level"] = arguments.isolation_level
    return AsyncConsumer({**_SETTINGS, **settings})


async def starts(
    consumer: AsyncConsumer, arguments: argparse.Namespace, partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    """Where to begin in each partition; at the end if nothing was said."""
    first = await consumer.beginning_offsets(partitions)
    last = await consumer.end_offsets(partitions)
    if arguments.from_beginning:
        return first
    if arguments.since is not None:
        found = await consumer.offsets_for_times(dict.fromkeys(partitions, arguments.since))
        return {at: last[at] if each is None else each.offset for at, each in found.items()}
    if arguments.offset is None:
        return last
    offset = arguments.offset
    wanted = {at: offset if offset >= 0 else last[at] + offset for at in partitions}
    return {at: min(max(each, first[at]), last[at]) for at, each in wanted.items()}


async def read(
    consumer: AsyncConsumer,
    begin: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int] | None = None,
) -> AsyncGenerator[list[ConsumerRecord], None]:
    """Records from the given offsets on, up to others or for ever."""
    await consumer.assign(begin)
    for at, offset in begin.items():
        consumer.seek(at, offset)
    if end is None:
        while True:
            yield await consumer.poll(_POLL_S)
    left = {at for at in begin if begin[at] < end[at]}
    consumer.pause(*(at for at in begin if at not in left))
    while left:
        records = await consumer.poll(_POLL_S)
        yield [each for each in records if each.offset < end[TopicPartition(*each[:2])]]
        for at in sorted(left):
            if await consumer.position(at) >= end[at]:
                left.discard(at)
                consumer.pause(at)
