"""kafka-get-offsets: prints offsets of partitions: first, last, or by time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, complain, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_names import java_text
from ottla.cli.kafka.options import Command, Failed, Given, Option
from ottla.cli.kafka.topic_filter import pattern
from ottla.client.administration import offsets as specs
from ottla.client.administration.offsets import Offsets
from ottla.client.administration.topics import Topics

_TIMES: Final = {
    "latest": specs.LATEST,
    "earliest": specs.EARLIEST,
    "max-timestamp": specs.MAX_TIMESTAMP,
    "earliest-local": specs.EARLIEST_LOCAL,
    "latest-tiered": specs.LATEST_TIERED,
    "earliest-pending-upload": specs.EARLIEST_PENDING_UPLOAD,
}
_TIMES_SHOWN: Final = " / ".join(f"{number} or {name}" for name, number in _TIMES.items())
COMMAND = Command(
    "kafka-get-offsets",
    "Prints offsets of partitions, as topic:partition:offset.",
    (
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option(
            "topic", "The topics: a name or a pattern. All of them if left out.", "String: topic"
        ),
        Option(
            "partitions",
            "Numbers of partitions, with commas between. All if left out.",
            "String: partition ids",
        ),
        Option(
            "topic-partitions",
            "Topics with partitions: a name or pattern, a colon, and a number or a range "
            "whose end does not count.",
            "String: topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3",
        ),
        Option(
            "time",
            "Which offset: the first at or after a time in ms, or one of the names. "
            "(default: latest)",
            f"String: <timestamp> / {_TIMES_SHOWN}",
        ),
        Option("exclude-internal-topics", "Leave out internal topics."),
    ),
)

Filter: TypeAlias = Callable[[TopicPartition], bool]
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")


class OffsetsAdmin(Topics, Offsets):
    """What is asked for offsets."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-get-offsets; the exit code."""
    return run(COMMAND, _execute, argv, prefix="Error occurred: ")


def _execute(given: Given) -> int:
    given.require("bootstrap-server")
    accepted, time = _filter(given), _time(given.value("time") or "latest")
    with_admin(OffsetsAdmin, given, lambda admin: _print(admin, given, accepted, time))
    return 0


async def _print(admin: OffsetsAdmin, given: Given, accepted: Filter, time: int) -> None:
    topics = await admin.list_topics(include_internal=not given.has("exclude-internal-topics"))
    known = [
        TopicPartition(name, partition.index)
        for name, topic in topics.items()
        for partition in topic.partitions
    ]
    wanted = {partition: time for partition in known if accepted(partition)}
    if not wanted:
        raise Failed("Could not match any topic-partitions with the specified filters")
    for partition, found in sorted((await admin.list_offsets(wanted)).items()):
        if isinstance(found, ApiError):
            complain(
                f"Skip getting offsets for topic-partition {partition} due to error: "
                f"{java_text(found)}"
            )
        elif found.offset >= 0:
            print(f"{partition.topic}:{partition.partition}:{found.offset}")


def _time(text: str) -> int:
    if text in _TIMES:
        return _TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise Failed(
            f"Malformed time argument {text}. Please use {_TIMES_SHOWN}, or a specified long "
            "format timestamp"
        ) from None


def _filter(given: Given) -> Filter:
    rules = given.value("topic-partitions")
    if rules is not None:
        if given.has("topic") or given.has("partitions"):
            raise Failed("--topic-partitions cannot be used with --topic or --partitions")
        accepted = [_rule(text) for text in rules.split(",")]
        return lambda partition: any(each(partition) for each in accepted)
    topics = pattern(given.value("topic") or ".*")
    numbers = _numbers(given.value("partitions"))
    return lambda partition: (
        topics.fullmatch(partition.topic) is not None
        and (numbers is None or partition.partition in numbers)
    )


def _numbers(text: str | None) -> set[int] | None:
    if not text:
        return None
    try:
        return {int(number) for number in text.split(",")}
    except ValueError:
        raise Failed(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def _rule(text: str) -> Filter:
    found = _RULE.fullmatch(text)
    if found is None:
        raise Failed(f"Invalid rule specification: {text}")
    topics = pattern(found[1] or ".*")
    if found[2]:
        lowest, end = int(found[2]), int(found[2]) + 1
    else:
        lowest, end = int(found[3] or 0), int(found[4] or 1 << 31)
    return lambda partition: (
        topics.fullmatch(partition.topic) is not None and lowest <= partition.partition < end
    )
