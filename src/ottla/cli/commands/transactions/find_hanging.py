"""`ottla transactions find-hanging`: transactions that keep readers waiting for ever."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from ottla.base.ids import TopicPartition
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import chosen_partitions, find_topic
from ottla.cli.output import add_output_argument, show
from ottla.cli.time_arguments import duration_ms
from ottla.inspection.hanging_transactions import Hanging, hanging
from ottla.inspection.human_units import iso

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla transactions find-hanging
  ottla transactions find-hanging --topic orders --silent-for 5m
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to look, and what counts."""
    parser.add_argument("-t", "--topic", metavar="TOPIC", help="only there")
    parser.add_argument(
        "--silent-for",
        type=duration_ms,
        default=duration_ms("15m"),
        metavar="TIME",
        help="only transactions that wrote nothing for so long (15m, as transaction.max.timeout.ms)",
    )
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them, each with the command that ends it; 1 if there are some."""

    async def found(admin: Admin) -> list[Hanging]:
        since_ms = round(time.time() * 1000) - arguments.silent_for
        return await hanging(admin, await _partitions(admin, arguments), silent_since_ms=since_ms)

    transactions = ask(arguments, found)
    show([_row(each) for each in transactions], arguments.output, nothing="no transaction hangs")
    return 1 if transactions else 0


async def _partitions(admin: Admin, arguments: argparse.Namespace) -> list[TopicPartition]:
    if arguments.topic is not None:
        return chosen_partitions(await find_topic(admin, arguments.topic), None)
    topics = await admin.list_topics()
    return [at for topic in topics.values() for at in chosen_partitions(topic, None)]


def _row(found: Hanging) -> dict[str, Any]:
    at, producer = found.at, found.producer
    mend = (
        f"ottla transactions abort --topic {at.topic} --partition {at.partition} "
        f"--start-offset {producer.transaction_start_offset}"
    )
    return {
        "topic": at.topic,
        "partition": at.partition,
        "start_offset": producer.transaction_start_offset,
        "producer_id": producer.producer_id,
        "transactional_id": found.transactional_id,
        "last_written": iso(producer.last_timestamp_ms),
        "mend": mend,
    }
