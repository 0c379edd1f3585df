"""kafka-delete-records: deletes the records of partitions before an offset."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_names import java_text
from ottla.cli.kafka.json_files import (
    check_version,
    duplicates,
    items,
    partition_of,
    read_json,
    value,
)
from ottla.cli.kafka.options import Command, Failed, Given, Option
from ottla.client.administration.offsets import Offsets

COMMAND = Command(
    "kafka-delete-records",
    "Deletes the records of partitions before an offset.",
    (
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option(
            "offset-json-file",
            "REQUIRED: a file with the offsets before which to delete; -1 is the end. Its form:\n"
            '{"partitions":\n  [{"topic": "foo", "partition": 1, "offset": 1}],\n "version":1\n}',
            "String: Offset json file path",
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-delete-records; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    given.require("bootstrap-server", "offset-json-file")
    offsets = _offsets(given.value("offset-json-file") or "")
    with_admin(Offsets, given, lambda admin: _delete(admin, offsets))
    return 0


async def _delete(admin: Offsets, offsets: dict[TopicPartition, int]) -> None:
    print("Executing records delete operation")
    results = await admin.delete_records(offsets)
    print("Records delete operation completed:")
    for partition, result in sorted(results.items()):
        if isinstance(result, ApiError):
            print(f"partition: {partition}\terror: {java_text(result)}")
        else:
            print(f"partition: {partition}\tlow_watermark: {result}")


def _offsets(path: str) -> dict[TopicPartition, int]:
    document = read_json(path)
    if not isinstance(document, dict):
        raise Failed("The input string is not a valid JSON")
    check_version(document)
    pairs = [
        (partition_of(item), value(item, "offset", int)) for item in items(document, "partitions")
    ]
    twice = duplicates([partition for partition, _ in pairs])
    if twice:
        shown = ",".join(map(str, twice))
        raise Failed(f"Offset json file contains duplicate topic partitions: {shown}")
    return dict(pairs)
