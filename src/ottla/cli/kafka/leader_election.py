"""kafka-leader-election: has leaders elected for partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import ask
from ottla.cli.kafka.java_names import java_text
from ottla.cli.kafka.json_files import duplicates, items, partition_of, read_json
from ottla.cli.kafka.options import Command, Failed, Given, Option, OptionError
from ottla.client.administration.placement import PREFERRED, UNCLEAN, Placement
from ottla.protocol.errors import ErrorCode

_TYPES: Final = {"PREFERRED": PREFERRED, "UNCLEAN": UNCLEAN}
_WHICH: Final = ("topic", "all-topic-partitions", "path-to-json-file")
COMMAND = Command(
    "kafka-leader-election",
    "Has leaders elected: the preferred replica, or where none is left any replica at all.",
    (
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("admin.config", "(DEPRECATED) The same as --command-config.", "String: config file"),
        Option(
            "election-type",
            'REQUIRED: "preferred" to give leadership back to the first replica, "unclean" to let a '
            "replica lead that may lack records, where no other is left.",
            "[PREFERRED,UNCLEAN]: election type",
        ),
        Option("all-topic-partitions", "Elect in all partitions that need it."),
        Option("topic", "The topic to elect in; needs --partition.", "String: topic name"),
        Option("partition", "The partition to elect in.", "Integer: partition id"),
        Option(
            "path-to-json-file",
            'A file with the partitions to elect in. Its form:\n{"partitions":\n'
            '\t[{"topic": "foo", "partition": 1},\n\t {"topic": "foobar", "partition": 2}]\n}',
            "String: Path to JSON file",
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-leader-election; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    _check(given)
    kind = (given.value("election-type") or "").upper()
    if kind not in _TYPES:
        text = given.value("election-type")
        raise OptionError(f"Cannot parse argument '{text}' of option election-type")
    partitions = _partitions(given)
    return ask(
        Placement,
        given.value("bootstrap-server") or "",
        _config_file(given),
        lambda admin: _elect(admin, kind, partitions),
    )


def _check(given: Given) -> None:
    missing = [name for name in ("bootstrap-server", "election-type") if not given.has(name)]
    if missing:
        raise Failed(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(given.has, _WHICH)) != 1:
        raise Failed(f"One and only one of the following options is required: {', '.join(_WHICH)}")
    if given.has("topic") and not given.has("partition"):
        raise Failed("Missing required option(s): partition")
    if given.has("partition") and not given.has("topic"):
        raise Failed("Option partition is only allowed if topic is used")
    if given.has("admin.config") and given.has("command-config"):
        raise Failed("Options --admin.config and --command-config mean the same; use the second")


def _config_file(given: Given) -> str | None:
    if given.has("admin.config"):
        print(
            "Option --admin.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
    return given.value("admin.config") or given.value("command-config")


def _partitions(given: Given) -> list[TopicPartition] | None:
    if given.has("topic"):
        return [TopicPartition(given.value("topic") or "", given.number("partition") or 0)]
    path = given.value("path-to-json-file")
    if path is None:
        return None
    document = read_json(path)
    if document is None:
        raise Failed("Replica election data is empty")
    partitions = [partition_of(item) for item in items(document, "partitions")]
    twice = duplicates(partitions)
    if twice:
        shown = ",".join(map(str, twice))
        raise Failed(f"Replica election data contains duplicate partitions: {shown}")
    return partitions


async def _elect(admin: Placement, kind: str, partitions: list[TopicPartition] | None) -> int:
    results = await admin.elect_leaders(_TYPES[kind], partitions)
    elected, valid = [], []
    failed: list[tuple[TopicPartition, ApiError]] = []
    for partition, result in sorted(results.items()):
        if not isinstance(result, ApiError):
            elected.append(str(partition))
        elif result.code == ErrorCode.ELECTION_NOT_NEEDED:
            valid.append(str(partition))
        else:
            failed.append((partition, result))
    if elected:
        print(
            f"Successfully completed leader election ({kind}) for partitions {', '.join(elected)}"
        )
    if valid:
        print(f"Valid replica already elected for partitions {', '.join(valid)}")
    for partition, error in failed:
        title = f"Error completing leader election ({kind}) for partition: {partition}"
        print(f"{title}: {java_text(error)}")
    if failed:
        raise Failed(f"{len(failed)} replica(s) could not be elected")
    return 0
