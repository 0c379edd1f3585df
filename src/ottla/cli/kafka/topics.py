"""kafka-topics: lists, describes, creates, widens and deletes topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ottla.base.errors import ApiError, ConfigError, OttlaError
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, complain, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.cli.kafka.topic_filter import matching
from ottla.client.administration.topics import NewPartitions, NewTopic, Topics
from ottla.inspection.outcomes import raise_first
from ottla.protocol.errors import ErrorCode

ACTIONS: Final = ("list", "describe", "create", "alter", "delete")
_REPORTS: Final = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
_MAX_REPLICATION_FACTOR: Final = 32767
_METRIC_NAMES: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
    "could collide. To avoid issues it is best to use either, but not both."
)


def _settings_help() -> str:
    from ottla.config.log import TOPIC_SETTINGS

    names = "\n".join(f"\t{name}" for name in sorted(TOPIC_SETTINGS))
    return (
        "A setting of the topic to create; may be given again. These are known:\n"
        f"{names}\nTo change settings later, use kafka-configs."
    )


COMMAND = Command(
    "kafka-topics",
    "Creates, lists, describes, widens and deletes topics.",
    (
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("list", "List the names of topics."),
        Option("describe", "Show topics with their partitions."),
        Option("create", "Create a topic."),
        Option("alter", "Give topics more partitions. (Settings are changed with kafka-configs.)"),
        Option("delete", "Delete topics."),
        Option(
            "topic",
            "The topic; except for --create also a pattern, or several with commas.",
            "String: topic",
        ),
        Option("topic-id", "The id of the topic to describe.", "String: topic-id"),
        Option(
            "partitions",
            "How many partitions the topic shall have; the cluster's default if left out. "
            "Adding some later sends keys elsewhere.",
            "Integer: # of partitions",
        ),
        Option(
            "replication-factor",
            "How many replicas each partition shall have; the cluster's default if left out.",
            "Integer: replication factor",
        ),
        Option(
            "replica-assignment",
            "Which brokers hold which partition: partitions with commas, their brokers with colons between.",
            "String: broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , "
            "broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ...",
        ),
        Option("config", _settings_help, "String: name=value"),
        Option(
            "delete-config", "No longer of any use: kafka-configs deletes settings.", "String: name"
        ),
        Option(
            "if-exists",
            "With --alter, --delete or --describe: do nothing if there is no such topic.",
        ),
        Option("if-not-exists", "With --create: a topic that is there already is no error."),
        Option("exclude-internal", "With --list or --describe: leave out internal topics."),
        Option(
            "partition-size-limit-per-response",
            "How many partitions a broker may describe at once.",
            "Integer: maximum number of partitions per response",
        ),
        Option(
            "topics-with-overrides", "With --describe: only topics that have settings of their own."
        ),
        Option(
            "under-replicated-partitions",
            "With --describe: only partitions that lack replicas in sync.",
        ),
        Option("unavailable-partitions", "With --describe: only partitions without a leader."),
        Option(
            "under-min-isr-partitions",
            "With --describe: only partitions with fewer replicas in sync than min.insync.replicas.",
        ),
        Option(
            "at-min-isr-partitions",
            "With --describe: only partitions with no more replicas in sync than min.insync.replicas.",
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-topics; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    _check(given)
    if given.has("delete-config"):
        complain("delete-config is no longer supported: use kafka-configs --delete-config.")
    try:
        if given.has("describe"):
            from ottla.cli.kafka.described_topics import TopicDetails, describe

            with_admin(TopicDetails, given, lambda admin: describe(admin, given))
        else:
            with_admin(Topics, given, lambda admin: _act(admin, given))
        return 0
    except ConfigError:  # no client could be made; Kafka tells this on stderr
        raise
    except OttlaError as failure:
        print(f"Error while executing topic command : {failure}")
        return 1


def _check(given: Given) -> None:
    if sum(map(given.has, ACTIONS)) != 1:
        raise UsageError(
            "Command must include exactly one action: "
            "--list, --describe, --create, --alter or --delete"
        )
    if not given.has("bootstrap-server"):
        raise Failed("--bootstrap-server must be specified")
    named = given.has("topic") or given.has("topic-id")
    if given.has("describe") and given.has("if-exists") and not named:
        raise UsageError("--topic or --topic-id is required to describe a topic")
    if not given.has("list") and not given.has("describe"):
        given.require("topic")
    if given.has("alter"):
        if given.has("config"):
            raise UsageError(
                'Option combination "[bootstrap-server],[config]" can\'t be used with option '
                '"[alter]" (To alter topic configurations, the kafka-configs tool can be used.)'
            )
        given.require("partitions")
    if given.has("create"):
        given.exclude("replica-assignment", ("partitions", "replication-factor"))
    for option, allowed in _BELONGS_TO.items():
        given.allow_only_with(option, ACTIONS, allowed)


_BELONGS_TO: Final = {
    "config": ("create", "alter"),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys(_REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}


async def _act(admin: Topics, given: Given) -> None:
    if given.has("list"):
        print("\n".join(await found_topics(admin, given)))
    elif given.has("create"):
        await _create(admin, given)
    else:
        names = await found_topics(admin, given)
        expect(names, given)
        if given.has("alter"):
            await _widen(admin, given, names)
        else:
            raise_first(await admin.delete_topics(names) if names else {})


async def found_topics(admin: Topics, given: Given) -> list[str]:
    """The topics that --topic means."""
    topics = await admin.list_topics(include_internal=not given.has("exclude-internal"))
    return matching(topics, given.value("topic"))


def expect(names: list[str], given: Given) -> None:
    """Refuse a name that no topic has."""
    if not names and given.has("topic") and not given.has("if-exists"):
        raise Failed(f"Topic '{given.value('topic')}' does not exist as expected")


async def _create(admin: Topics, given: Given) -> None:
    name = given.value("topic") or ""
    partitions, factor = given.number("partitions"), given.number("replication-factor")
    new = NewTopic(
        name,
        partitions=-1 if partitions is None else partitions,
        replication_factor=-1 if factor is None else factor,
        assignments=dict(enumerate(_assignment(given))),
        configs=_configs(given),
    )
    if "." in name or "_" in name:
        print(_METRIC_NAMES)
    if factor is not None and not 1 <= factor <= _MAX_REPLICATION_FACTOR:
        raise Failed("The replication factor must be between 1 and 32767 inclusive")
    if partitions is not None and partitions < 1:
        raise Failed("The partitions must be greater than 0")
    try:
        await admin.create_topics([new])
    except ApiError as refused:
        if refused.code == ErrorCode.TOPIC_ALREADY_EXISTS and given.has("if-not-exists"):
            return
        raise
    print(f"Created topic {name}.")


def _configs(given: Given) -> dict[str, str]:
    configs = {}
    for text in given.values("config"):
        name, assigned, value = text.partition("=")
        if not assigned:
            raise Failed(
                "requirement failed: Invalid topic config: all configs to be added must be in "
                'the format "key=val".'
            )
        configs[name.strip()] = value.strip()
    return configs


def _assignment(given: Given) -> list[list[int]]:
    text = given.value("replica-assignment")
    if text is None:
        return []
    partitions: list[list[int]] = []
    for number, brokers in enumerate(text.split(",")):
        try:
            replicas = [int(broker) for broker in brokers.split(":")]
        except ValueError:
            raise Failed(f"'{brokers}' is no list of broker ids with colons between") from None
        twice = sorted({broker for broker in replicas if replicas.count(broker) > 1})
        if twice:
            shown = ",".join(map(str, twice))
            raise Failed(f"Partition replica lists may not contain duplicate entries: {shown}")
        if partitions and len(replicas) != len(partitions[0]):
            raise Failed(f"Partition {number} has different replication factor: {replicas}")
        partitions.append(replicas)
    return partitions


async def _widen(admin: Topics, given: Given, names: list[str]) -> None:
    if not names:
        return
    total, assignment = given.number("partitions") or 0, _assignment(given)
    held = await admin.describe_topics(names) if assignment else {}
    wanted = {}
    for name in names:
        before = held.get(name)
        if isinstance(before, ApiError):
            raise before
        new = None if before is None else assignment[len(before.partitions) :]
        wanted[name] = NewPartitions(total, new)
    raise_first(await admin.create_partitions(wanted))
