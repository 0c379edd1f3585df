"""Requests that name many partitions, of which only those that exist go on to a coordinator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from ottla.base.errors import ApiError
from ottla.cluster.image import TopicImage
from ottla.protocol.errors import ErrorCode


class NamesPartition(Protocol):
    """An element of a request that is about one partition."""

    partition_index: int


P = TypeVar("P", bound=NamesPartition)


def existing(topic: TopicImage, partitions: Sequence[P]) -> list[P]:
    """Those of the named partitions that the topic has."""
    count = len(topic.partitions)
    return [each for each in partitions if 0 <= each.partition_index < count]


def error_codes(
    named: Sequence[tuple[TopicImage | None, Sequence[NamesPartition]]],
    answer: Any,
    unknown_topic: int = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
) -> Iterator[list[int]]:
    """The codes of all partitions, topic by topic.

    `answer` is what came back for those that exist: a code for each in their order, or an ApiError for all of them.
    """
    refused = answer.code if isinstance(answer, ApiError) else None
    codes = iter(()) if refused is not None else iter(answer)
    for topic, partitions in named:
        if topic is None:
            yield [unknown_topic] * len(partitions)
            continue
        count = len(topic.partitions)
        yield [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if not 0 <= each.partition_index < count
            else (next(codes) if refused is None else refused)
            for each in partitions
        ]
