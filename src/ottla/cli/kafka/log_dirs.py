"""kafka-log-dirs: shows what lies in the log directories of brokers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ottla.base.errors import ApiError
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_names import java_name
from ottla.cli.kafka.options import Command, Failed, Given, Option
from ottla.client.administration.base import Outcome
from ottla.client.administration.brokers import Brokers, LogDir

COMMAND = Command(
    "kafka-log-dirs",
    "Shows what lies in the log directories of brokers, as JSON.",
    (
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("describe", "REQUIRED: show the directories."),
        Option(
            "broker-list",
            'Ids of brokers, "0,1,2"; all of them if left out.',
            "String: Broker list",
        ),
        Option(
            "topic-list",
            'Names of topics, "topic1,topic2"; all of them if left out.',
            "String: Topic list",
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-log-dirs; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    given.require("bootstrap-server", "describe")
    topics = _words(given.value("topic-list"))
    brokers = _words(given.value("broker-list"))
    with_admin(Brokers, given, lambda admin: _describe(admin, brokers, set(topics)))
    return 0


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


async def _describe(admin: Brokers, wanted: list[str], topics: set[str]) -> None:
    existing = [broker.id for broker in (await admin.describe_cluster()).brokers]
    brokers = _existing(wanted, existing) if wanted else existing
    print("Querying brokers for log directories information")
    found = await admin.describe_log_dirs(brokers)
    print(f"Received log directory information from brokers {_ids(brokers)}")
    document = {
        "brokers": [
            {"broker": broker, "logDirs": [_directory(*pair, topics) for pair in dirs.items()]}
            for broker, dirs in sorted(found.items())
        ],
        "version": 1,
    }
    print(json.dumps(document, separators=(",", ":")))


def _existing(wanted: list[str], existing: list[int]) -> list[int]:
    strange = [word for word in wanted if not word.isdecimal()]
    if strange:
        raise Failed(f"--broker-list: '{strange[0]}' is no broker id")
    brokers = [int(word) for word in wanted]
    missing = sorted({broker for broker in brokers if broker not in existing})
    if missing:
        raise Failed(
            f"ERROR: The given brokers do not exist from --broker-list: {_ids(missing)}. "
            f"Current existent brokers: {_ids(existing)}"
        )
    return sorted(set(brokers))


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _directory(path: str, found: Outcome[LogDir], topics: set[str]) -> Mapping[str, Any]:
    if isinstance(found, ApiError):
        return {"partitions": [], "error": java_name(found.code), "logDir": path}
    partitions = [
        {
            "partition": str(partition),
            "size": replica.size_bytes,
            "offsetLag": replica.offset_lag,
            "isFuture": replica.future,
        }
        for partition, replica in sorted(found.replicas.items())
        if not topics or partition.topic in topics
    ]
    return {"partitions": partitions, "error": None, "logDir": path}
