"""Pure: the records of a worker's three topics, in Kafka Connect's formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

CONNECTOR: Final = "connector-"
TASK: Final = "task-"
COMMIT: Final = "commit-"
TARGET: Final = "target-state-"
RESTART: Final = "restart-connector-"
CONNECTOR_STATUS: Final = "status-connector-"
TASK_STATUS: Final = "status-task-"
TOPIC_STATUS: Final = "status-topic-"


class Entry(NamedTuple):
    """A key and a value of one of the topics; a value of None deletes."""

    key: bytes
    value: bytes | None


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def read_json(data: bytes | None) -> Any:
    """Return the value of bytes, None for none and for what is no JSON: other programs may write here, too."""
    if data is None:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return None


# --- configurations


def connector_config(name: str, config: Mapping[str, str] | None) -> Entry:
    """Return the entry of a connector's configuration."""
    value = None if config is None else _json({"properties": dict(config)})
    return Entry(f"{CONNECTOR}{name}".encode(), value)


def task_config(name: str, number: int, config: Mapping[str, str] | None) -> Entry:
    """Return the entry of a task's configuration."""
    value = None if config is None else _json({"properties": dict(config)})
    return Entry(f"{TASK}{name}-{number}".encode(), value)


def task_count(name: str, tasks: int | None) -> Entry:
    """Return the entry that makes the configurations of a connector's tasks count."""
    return Entry(f"{COMMIT}{name}".encode(), None if tasks is None else _json({"tasks": tasks}))


def target_state(name: str, state: str | None) -> Entry:
    """Return the entry of what a connector is to do: STARTED, PAUSED or STOPPED.

    Workers of Kafka before 3.5 know no STOPPED, and read `state`.
    """
    if state is None:
        return Entry(f"{TARGET}{name}".encode(), None)
    older = "PAUSED" if state == "STOPPED" else state
    return Entry(f"{TARGET}{name}".encode(), _json({"state": older, "state.v2": state}))


def restart(name: str, *, include_tasks: bool, only_failed: bool) -> Entry:
    """Return the entry that restarts a connector."""
    wanted = {"include-tasks": include_tasks, "only-failed": only_failed}
    return Entry(f"{RESTART}{name}".encode(), _json(wanted))


# --- offsets


def offset_entry(
    name: str, partition: Mapping[str, Any], offset: Mapping[str, Any] | None
) -> Entry:
    """Return the entry of a source partition's offset."""
    key = json.dumps([name, dict(partition)], separators=(",", ":"), sort_keys=True)
    return Entry(key.encode(), None if offset is None else _json(dict(offset)))


def offset_key(key: bytes | None) -> tuple[str, dict[str, Any]] | None:
    """Return connector and partition of a key; None if it is none."""
    found = read_json(key)
    if isinstance(found, list) and len(found) == 2 and isinstance(found[1], dict):
        return str(found[0]), found[1]
    return None


# --- status


def connector_status(name: str, status: Mapping[str, Any] | None) -> Entry:
    """Return the entry of a connector's status."""
    key = f"{CONNECTOR_STATUS}{name}".encode()
    return Entry(key, None if status is None else _json(dict(status)))


def task_status(name: str, number: int, status: Mapping[str, Any] | None) -> Entry:
    """Return the entry of a task's status."""
    key = f"{TASK_STATUS}{name}-{number}".encode()
    return Entry(key, None if status is None else _json(dict(status)))


def topic_status(name: str, topic: str, found_ms: int | None) -> Entry:
    """Return the entry that says that a connector uses a topic."""
    key = f"{TOPIC_STATUS}{topic}:connector-{name}".encode()
    if found_ms is None:
        return Entry(key, None)
    told = {"name": topic, "connector": name, "task": 0, "discoverTimestamp": found_ms}
    return Entry(key, _json({"topic": told}))
