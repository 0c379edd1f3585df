"""The JSON files of kafka-reassign-partitions, read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.json_files import (
    check_version,
    duplicates,
    items,
    partition_of,
    read_json,
    value,
)
from ottla.cli.kafka.options import Failed

ANY_DIRECTORY = "any"


class Target(NamedTuple):
    """Where a partition shall be: brokers, and a directory on each of them."""

    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]


def read_topics(path: str) -> list[str]:
    """The topics of --topics-to-move-json-file."""
    document = _document(path)
    topics = [value(item, "topic", str) for item in items(document, "topics")]
    twice = sorted({topic for topic in topics if topics.count(topic) > 1})
    if twice:
        raise Failed(f"List of topics to reassign contains duplicate entries: {', '.join(twice)}")
    return topics


def read_reassignment(path: str) -> dict[TopicPartition, Target]:
    """The moves of --reassignment-json-file."""
    found = items(_document(path), "partitions")
    if not found:
        raise Failed("Partition reassignment list cannot be empty")
    twice = duplicates([partition_of(item) for item in found])
    if twice:
        shown = ",".join(map(str, twice))
        raise Failed(f"Partition reassignment contains duplicate topic partitions: {shown}")
    moves = {}
    for item in found:
        replicas = value(item, "replicas", list)
        directories = item.get("log_dirs", [ANY_DIRECTORY] * len(replicas))
        if not replicas:
            raise Failed("Partition replica list cannot be empty")
        if len(set(replicas)) != len(replicas):
            shown = f"{partition_of(item)} contains multiple entries"
            raise Failed(f"Partition replica lists may not contain duplicate entries: {shown}")
        if len(directories) != len(replicas):
            raise Failed(
                f"Size of replicas list {replicas} is different from size of log dirs list "
                f"{directories} for partition {partition_of(item)}"
            )
        moves[partition_of(item)] = Target(tuple(replicas), tuple(directories))
    return dict(sorted(moves.items()))


def as_json(assignment: Mapping[TopicPartition, Target]) -> str:
    """An assignment in the form that --reassignment-json-file takes."""
    partitions = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": list(target.replicas),
            "log_dirs": list(target.log_dirs),
        }
        for partition, target in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def names(partitions: Sequence[object]) -> str:
    """Several things in one line."""
    return ",".join(map(str, partitions))


def _document(path: str) -> object:
    document = read_json(path)
    if not isinstance(document, dict):
        raise Failed(f"{path}: no JSON object")
    check_version(document)
    return document
