"""The CSV that `--export` writes and `--from-file` reads: [group,]topic,partition,offset."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.options import Failed

Plan: TypeAlias = dict[str, dict[TopicPartition, int]]
"""Offsets by partition, by group."""

# Kafka's writer looks for characters to quote in short texts only, and quotes all longer ones.
_LONGEST_UNQUOTED: Final = 24
_TO_QUOTE: Final = frozenset(', "\n\r')


def exported(plan: Mapping[str, Mapping[TopicPartition, int]], *, with_group: bool) -> str:
    """The lines of a plan."""
    rows = []
    for group, offsets in plan.items():
        for at, offset in offsets.items():
            names = [group, at.topic] if with_group else [at.topic]
            rows.append(f"{','.join(map(_quoted, names))},{at.partition},{offset}\n")
    return "".join(rows)


def read_plan(path: str, group: str | None) -> Plan:
    """The plan in a file; lines that name no group mean the given one."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError:
        raise Failed(f"Unable to read file {path}") from None
    plan: Plan = {}
    for number, row in enumerate(rows, 1):
        name, at, offset = _entry(path, number, row, group)
        plan.setdefault(name, {})[at] = offset
    return plan


def _entry(
    path: str, number: int, row: Sequence[str], group: str | None
) -> tuple[str, TopicPartition, int]:
    try:
        *named, topic, partition, offset = row
        if not named and group is not None:
            named = [group]
        [name] = named
        return name, TopicPartition(topic, int(partition)), int(offset)
    except ValueError:
        pass
    form = "group,topic,partition,offset" if group is None else "topic,partition,offset"
    raise Failed(f"{path}, line {number}: '{','.join(row)}' is not of the form {form}")


def _quoted(text: str) -> str:
    if len(text) <= _LONGEST_UNQUOTED and _TO_QUOTE.isdisjoint(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
