"""Which partitions `--topic t` and `--topic t:0,1` mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.options import UsageError
from ottla.client.administration.topics import Topics


class Scope(NamedTuple):
    """The partitions that are meant, and topics that could not be looked up."""

    partitions: list[TopicPartition]
    unknown: dict[str, ApiError]


async def given_partitions(admin: Topics, arguments: Iterable[str]) -> Scope:
    """The partitions that are named, and all of topics whose partitions are not."""
    named = list(arguments)
    partitions = [each for text in named if ":" in text for each in _numbered(text)]
    unknown = {}
    for topic, found in (await admin.describe_topics([t for t in named if ":" not in t])).items():
        if isinstance(found, ApiError):
            unknown[topic] = ApiError(found.code)  # Kafka's own words are shown for the code
        else:
            partitions += [TopicPartition(topic, each.index) for each in found.partitions]
    return Scope(list(dict.fromkeys(partitions)), unknown)


def _numbered(text: str) -> list[TopicPartition]:
    topic, *rest = text.split(":")
    if len(rest) != 1:
        raise UsageError(f"Invalid topic arg '{text}', expected topic name and partitions")
    partitions = []
    for number in rest[0].split(","):
        if not number.isascii() or not number.isdecimal():
            raise UsageError(f"Invalid partition '{number}' specified in topic arg '{text}''")
        partitions.append(TopicPartition(topic, int(number)))
    return partitions
