"""The JSON files that Kafka's commands read: lists of partitions with something said of each."""

from __future__ import annotations

import json
from typing import Any

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.options import Failed

VERSION = 1


def read_json(path: str) -> Any:
    """What is in the file, None if it is no JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.loads(file.read())
    except OSError:
        raise Failed(f"Unable to read file {path}") from None
    except ValueError:
        return None


def check_version(document: Any) -> None:
    """Refuse a file that is written for a later command."""
    version = document.get("version", VERSION)
    if version != VERSION:
        raise Failed(f"Not supported version field value {version}")


def items(document: Any, field: str) -> list[dict[str, Any]]:
    """The objects in a list of the document."""
    found = document.get(field) if isinstance(document, dict) else None
    if found is None:
        raise Failed(f"Missing {field} field")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Failed(f"The {field} field must be a list of objects")
    return found


def value(item: dict[str, Any], field: str, kind: type) -> Any:
    """A field of an object."""
    found = item.get(field)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise Failed(f"Every entry needs a field {field} ({kind.__name__}): {json.dumps(item)}")
    return found


def partition_of(item: dict[str, Any]) -> TopicPartition:
    """The partition that an object is about."""
    return TopicPartition(value(item, "topic", str), value(item, "partition", int))


def duplicates(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """The partitions that are there more than once."""
    return sorted({each for each in partitions if partitions.count(each) > 1})
