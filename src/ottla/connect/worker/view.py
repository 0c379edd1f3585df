"""Pure: what the worker's topics say, replayed record by record."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ottla.connect.worker import formats


class Target(StrEnum):
    """What a connector is to do."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass
class Known:
    """What is known of one connector."""

    config: dict[str, str] | None = None
    version: int = 0
    """Grows with each change of the configuration, and each restart."""
    target: Target = Target.STARTED
    status: dict[str, Any] | None = None
    task: dict[str, Any] | None = None
    topics: set[str] = field(default_factory=set)
    offsets: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    """By the text of the partition: the partition and its offset."""


class View:
    """Connectors by name."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def names(self) -> list[str]:
        """Return the connectors that have a configuration."""
        return sorted(name for name, known in self._known.items() if known.config is not None)

    def get(self, name: str) -> Known | None:
        """Return what is known of a connector; None if it has no configuration."""
        known = self._known.get(name)
        return known if known is not None and known.config is not None else None

    def replay_config(self, key: bytes | None, value: bytes | None) -> str | None:
        """Take one record of the configurations; return the connector that it is about."""
        text, found = (key or b"").decode(errors="replace"), formats.read_json(value)
        if text.startswith(formats.CONNECTOR):
            known = self._of(text.removeprefix(formats.CONNECTOR))
            known.config = _properties(found)
            known.version += 1
            if known.config is None:
                known.target = Target.STARTED
            return text.removeprefix(formats.CONNECTOR)
        if text.startswith(formats.TARGET):
            name = text.removeprefix(formats.TARGET)
            self._of(name).target = _target(found)
            return name
        if text.startswith(formats.RESTART) and isinstance(found, dict):
            return self._restart(text.removeprefix(formats.RESTART), found)
        return None

    def _restart(self, name: str, wanted: dict[str, Any]) -> str:
        known = self._of(name)
        states = [status["state"] for status in (known.status, known.task) if status]
        if "FAILED" in states or not wanted.get("only-failed"):
            known.version += 1
        return name

    def replay_status(self, key: bytes | None, value: bytes | None) -> None:
        """Take one record of the status topic."""
        text, found = (key or b"").decode(errors="replace"), formats.read_json(value)
        status = found if isinstance(found, dict) else None
        if text.startswith(formats.CONNECTOR_STATUS):
            self._of(text.removeprefix(formats.CONNECTOR_STATUS)).status = status
        elif text.startswith(formats.TASK_STATUS):
            name, _, number = text.removeprefix(formats.TASK_STATUS).rpartition("-")
            if number == "0":
                self._of(name).task = status
        elif text.startswith(formats.TOPIC_STATUS):
            topic, _, name = text.removeprefix(formats.TOPIC_STATUS).rpartition(":connector-")
            topics = self._of(name).topics
            (topics.discard if status is None else topics.add)(topic)

    def replay_offset(self, key: bytes | None, value: bytes | None) -> None:
        """Take one record of the offsets."""
        found = formats.offset_key(key)
        if found is None:
            return
        name, partition = found
        offsets = self._of(name).offsets
        offset = formats.read_json(value)
        if isinstance(offset, dict):
            offsets[partition_text(partition)] = partition, offset
        else:
            offsets.pop(partition_text(partition), None)

    def _of(self, name: str) -> Known:
        return self._known.setdefault(name, Known())


def partition_text(partition: dict[str, Any]) -> str:
    """Return a partition as text that is the same for equal ones."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"))


def _properties(found: Any) -> dict[str, str] | None:
    properties = found.get("properties") if isinstance(found, dict) else None
    if not isinstance(properties, dict):
        return None
    return {str(name): str(value) for name, value in properties.items() if value is not None}


def _target(found: Any) -> Target:
    told = found if isinstance(found, dict) else {}
    state = str(told.get("state.v2") or told.get("state"))
    return Target(state) if state in Target.__members__ else Target.STARTED
