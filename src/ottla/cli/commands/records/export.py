"""`ottla records export`: copies a topic into a file."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from ottla.base.errors import OttlaError
from ottla.base.progress import Progress
from ottla.cli.connect import add_broker_arguments
from ottla.cli.parsing import complain
from ottla.cli.reading import (
    add_isolation_argument,
    add_start_arguments,
    add_where_argument,
    chosen_filter,
    consumer_for,
    partitions_to_read,
    read,
    since,
    starts,
)
from ottla.cli.record_files import STANDARD, RecordSink, format_of, open_sink
from ottla.inspection.human_units import counted, short_duration

EXAMPLES = """examples:
  ottla records export orders --to orders.ndjson
  ottla records export orders --to orders.parquet --since 1d
  ottla records export orders --where 'value.amount > 100' | gzip > big.ndjson.gz
What is exported ends where the topic ends now. `ottla records import` writes it to a topic again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Of what, and where to."""
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--to", default=STANDARD, metavar="FILE", help="a name in .parquet means Parquet"
    )
    parser.add_argument("--format", choices=("ndjson", "parquet"), help="whatever the name says")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    add_start_arguments(parser)
    parser.add_argument("--until", type=since, metavar="TIME", help="up to 1h ago, or to a time")
    add_where_argument(parser)
    add_isolation_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file."""
    path = arguments.to
    if path != STANDARD and Path(path).exists() and not arguments.force:
        raise OttlaError(f"{path} is there already; --force replaces it")
    if arguments.offset is None and arguments.since is None:
        arguments.from_beginning = True
    wanted = chosen_filter(arguments)
    asyncio.run(_export(arguments, wanted))
    return 0


async def _export(arguments: argparse.Namespace, wanted: Callable[[Any], bool] | None) -> None:
    partitions = await partitions_to_read(arguments)
    async with consumer_for(arguments) as consumer:
        begin = await starts(consumer, arguments, partitions)
        end = await consumer.end_offsets(partitions)
        if arguments.until is not None:
            times = await consumer.offsets_for_times(dict.fromkeys(partitions, arguments.until))
            end = {at: end[at] if each is None else each.offset for at, each in times.items()}
        total = sum(max(0, end[at] - begin[at]) for at in partitions)
        with open_sink(arguments.to, format_of(arguments.to, arguments.format)) as sink:
            await _copy(read(consumer, begin, end), sink, wanted, total)


async def _copy(
    batches: Any, sink: RecordSink, wanted: Callable[[Any], bool] | None, total: int
) -> None:
    progress, written = Progress("records read", total), 0
    async with aclosing(batches):
        async for records in batches:
            kept = records if wanted is None else list(filter(wanted, records))
            sink.write(kept)
            written += len(kept)
            progress.advance(len(records))
    progress.close()
    complain(f"exported {counted(written, 'record')} in {short_duration(progress.elapsed_s)}")
