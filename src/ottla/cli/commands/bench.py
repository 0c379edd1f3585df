"""`ottla bench`: throughput and latency of any Kafka-compatible cluster."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from ottla.base.ids import TopicPartition
from ottla.cli.benchmark import Latencies, Throughput, consume, latencies, latency_row, produce
from ottla.cli.connect import (
    add_broker_arguments,
    asked,
    assignments,
    client_settings,
    known_to,
)
from ottla.cli.names import chosen_partitions, find_topic
from ottla.cli.output import add_output_argument, paint, show, show_one
from ottla.cli.parsing import UsageError
from ottla.cli.plots import histogram, sparkline
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.producer_settings import ProducerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla bench
  ottla bench --records 1000000 --size 1000 --acks 1 --compression lz4
  ottla bench --topic existing --only latency --samples 5000
  ottla bench -b kafka:9092 -o json > kafka.json
Without --topic one is made for it, and deleted afterwards. One client on one core measures: a
cluster may be able to do more.
"""
PHASES: Final = ("produce", "consume", "latency")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How much of what."""
    parser.add_argument("-t", "--topic", metavar="TOPIC", help="use this one, and leave it")
    parser.add_argument("--only", choices=PHASES, action="append", help="may be given again")
    parser.add_argument("--records", type=int, default=200_000, metavar="N")
    parser.add_argument("--size", type=int, default=100, metavar="BYTES", help="of a value (100)")
    parser.add_argument("--samples", type=int, default=1000, metavar="N", help="of latency (1000)")
    parser.add_argument("--partitions", type=int, default=4, metavar="N")
    parser.add_argument("--replicas", type=int, default=-1, metavar="N")
    parser.add_argument("--acks", choices=("all", "1", "0"), default="all")
    parser.add_argument(
        "--compression", choices=("none", "gzip", "snappy", "lz4", "zstd"), default="none"
    )
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print."""
    phases = [each for each in PHASES if each in (arguments.only or PHASES)]
    if arguments.records < 1 or arguments.samples < 1 or arguments.size < 0:
        raise UsageError("measure at least one record")
    if phases == ["consume"] and arguments.topic is None:
        raise UsageError("--only consume needs a --topic that holds records")
    rates, times = asyncio.run(_measure(arguments, phases))
    if arguments.output == "table":
        _print(rates, times)
    else:
        _print_rows(rates, times, arguments.output)
    return 0


async def _measure(
    arguments: argparse.Namespace, phases: list[str]
) -> tuple[dict[str, Throughput], Latencies | None]:
    own = assignments(arguments.client_settings, "-X")
    given = client_settings(arguments)
    producing: dict[str, Any] = {
        "acks": arguments.acks,
        "compression.type": arguments.compression,
        "batch.size": "131072",
        **known_to(ProducerSettings, given),
        **{name: value for name, value in own.items() if not _is_for_consumers(name)},
    }
    consuming = {
        "allow.auto.create.topics": "false",
        "max.poll.records": "5000",
        **known_to(ConsumerSettings, given),
    }
    rates: dict[str, Throughput] = {}
    times: Latencies | None = None
    async with _topic(arguments) as partitions:
        name = partitions[0].topic
        if "produce" in phases:
            rates["produce"] = await produce(producing, name, arguments.records, arguments.size)
        if "consume" in phases:
            rates["consume"] = await consume(consuming, partitions, arguments.size)
        if "latency" in phases:
            times = await latencies(
                producing, consuming, partitions[0], arguments.samples, arguments.size
            )
    return rates, times


def _is_for_consumers(name: str) -> bool:
    return bool(known_to(ConsumerSettings, {name: ""})) and not known_to(
        ProducerSettings, {name: ""}
    )


@asynccontextmanager
async def _topic(arguments: argparse.Namespace) -> AsyncIterator[list[TopicPartition]]:
    """The partitions to measure with; a topic that was made for it is deleted, come what may."""
    from ottla.client.administration.topics import NewTopic

    name = arguments.topic or f"ottla-bench-{os.getpid()}"
    new = NewTopic(name, arguments.partitions, arguments.replicas)

    async def prepare(admin: Admin) -> list[TopicPartition]:
        if arguments.topic is None:
            await admin.create_topics([new])
            await admin.cluster.leader(name, arguments.partitions - 1)
        return chosen_partitions(await find_topic(admin, name), None)

    partitions = await asked(arguments, prepare)
    try:
        yield partitions
    finally:
        if arguments.topic is None:
            await asked(arguments, lambda admin: admin.delete_topics([name]))


def _print_rows(rates: dict[str, Throughput], times: Latencies | None, output: str) -> None:
    rows: dict[str, dict[str, Any]] = {what: rate.row(what) for what, rate in rates.items()}
    if times is not None:
        rows["acknowledged"] = latency_row("acknowledged", times.acknowledged)
        rows["received"] = latency_row("received", times.received)
    if output == "json":
        show_one(rows, "json")
    elif output == "ndjson":
        show(rows.values(), "ndjson")
    else:
        keys = list(dict.fromkeys(key for row in rows.values() for key in row))
        show([{key: row.get(key) for key in keys} for row in rows.values()], "csv")


def _print(rates: dict[str, Throughput], times: Latencies | None) -> None:
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    if rates:
        show([rate.row(what) for what, rate in rates.items()], "table")
        print()
        for what, rate in rates.items():
            line = sparkline(rate.slices, ascii_only=ascii_only)
            print(f"{what}  {line}  records/s from beginning to end")
    if times is not None:
        rows = (("acknowledged", times.acknowledged), ("received", times.received))
        print() if rates else None
        show([latency_row(what, values) for what, values in rows], "table")
        print()
        print(paint("acknowledged after", "bold"))
        print("\n".join(histogram(times.acknowledged, "ms", ascii_only=ascii_only)))
