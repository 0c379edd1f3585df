"""Pure: offsets of partitions in the JSON form of Spark's Kafka connector: {"topic":{"0":12}}.

Beside them stand the ids of the topics, so that one which was deleted and made again is not taken for the old one; the
connector's own checkpoints have none, and it does not read ours.

Spark compares offsets as text and keeps them in checkpoints, so there is one order: topics by name,
partitions by number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.base.units import LONG_MAX

Offsets: TypeAlias = dict[TopicPartition, int]
TopicIds: TypeAlias = Mapping[str, UUID]

LATEST: Final = -1
EARLIEST: Final = -2

_TOPIC_IDS: Final = "@topic-ids"
"""No topic has such a name."""
_OFFSETS_FORM: Final = '{"topic":{"0":23,"1":-1}}'
_PARTITIONS_FORM: Final = '{"topic":[0,1]}'


class Bound(NamedTuple):
    """Where to begin or to end: by offset or by time in ms, the same everywhere or for each partition.

    As an offset, LATEST and EARLIEST stand for the ends of a partition.
    """

    by_time: bool
    everywhere: int | None
    each: Mapping[TopicPartition, int] = {}


EARLIEST_BOUND: Final = Bound(by_time=False, everywhere=EARLIEST)
LATEST_BOUND: Final = Bound(by_time=False, everywhere=LATEST)


def to_json(
    offsets: Mapping[TopicPartition, int], ids: TopicIds = MappingProxyType({})
) -> dict[str, dict[str, Any]]:
    """The offsets as Spark is given them, in canonical order, and the ids of those topics that have one."""
    topics: dict[str, dict[str, Any]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    known = {topic: str(ids[topic]) for topic in topics if topic in ids}
    return {**topics, _TOPIC_IDS: known} if known else topics


def topic_ids(value: Any) -> dict[str, UUID]:
    """The ids in what Spark hands back, whose offsets `from_json` has read."""
    return {topic: UUID(text) for topic, text in value.get(_TOPIC_IDS, {}).items()}


def from_json(value: Any) -> Offsets:
    """The offsets in what Spark hands back; ValueError if a checkpoint holds something else."""
    try:
        return {
            TopicPartition(topic, _number(partition)): _offset(offset, least=EARLIEST)
            for topic, partitions in value.items()
            if topic != _TOPIC_IDS
            for partition, offset in partitions.items()
        }
    except (AttributeError, ValueError):
        raise ValueError(
            f"the checkpoint belongs to another query: its offset {json.dumps(value)[:200]} is not "
            f"of the form {_OFFSETS_FORM}; give this query a checkpointLocation of its own"
        ) from None


def without_ids(value: Any) -> Any:
    """The offsets of a source, as whoever watches a query expects them; those of other sources as they are."""
    if not isinstance(value, dict):
        return value
    return {topic: offsets for topic, offsets in value.items() if topic != _TOPIC_IDS}


def parse_offsets(text: str) -> Offsets:
    """Offsets as an option writes them, with -1 for latest and -2 for earliest."""
    return _parsed(text, least=EARLIEST)


def parse_times(text: str) -> Offsets:
    """Times in ms for each partition, as an option writes them."""
    return _parsed(text, least=0)


def parse_partitions(text: str) -> tuple[TopicPartition, ...]:
    """Partitions as the option `assign` names them."""
    try:
        topics: dict[str, list[Any]] = json.loads(text)
        found = {
            TopicPartition(topic, _number(str(number)))
            for topic, numbers in topics.items()
            for number in numbers
        }
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"must be JSON of the form {_PARTITIONS_FORM}") from None
    if not found:
        raise ValueError("names no partition")
    return tuple(sorted(found))


def names(partitions: Iterable[TopicPartition], most: int = 5) -> str:
    """Some partitions as a sentence mentions them."""
    listed = sorted(partitions)
    shown = ", ".join(map(str, listed[:most]))
    return f"{shown} and {len(listed) - most} more" if len(listed) > most else shown


def _parsed(text: str, least: int) -> Offsets:
    try:
        topics: dict[str, dict[str, Any]] = json.loads(text)
        return {
            TopicPartition(topic, _number(partition)): _offset(offset, least)
            for topic, partitions in topics.items()
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"must be JSON of the form {_OFFSETS_FORM}") from None


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _offset(value: Any, least: int) -> int:
    # bool is an int to Python; true is no offset.
    if type(value) is not int or not least <= value <= LONG_MAX:
        raise ValueError(value)
    return value
