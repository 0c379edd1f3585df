"""`ottla records tail`: prints records, those to come or those that are there."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from ottla.base.progress import is_terminal
from ottla.cli.connect import add_broker_arguments
from ottla.cli.output import FORMATS, RowWriter
from ottla.cli.parsing import UsageError
from ottla.cli.reading import (
    add_isolation_argument,
    add_start_arguments,
    add_where_argument,
    chosen_filter,
    consumer_for,
    partitions_to_read,
    read,
    starts,
)
from ottla.cli.record_format import BadFormat, record_format, shown_safely
from ottla.inspection.record_json import record_json

if TYPE_CHECKING:
    from ottla.base.ids import TopicPartition
    from ottla.client.async_consumer import AsyncConsumer
    from ottla.client.consumer_record import ConsumerRecord

EXAMPLES = """examples:
  ottla records tail orders
  ottla records tail orders -n 10
  ottla records tail orders --where 'value.amount > 100' -f '%t %p %o %k %v'
  ottla records tail orders --since 1h --exit -o ndjson
  ottla records tail orders --from-beginning --where "key matches '^eu-' and not headers.test = 'yes'"
formats of -f:
  %t topic, %p partition, %o offset, %k key, %v value, %h headers, %d date and time,
  %T timestamp in ms, %s size of the value, %% a percent sign; \\n and \\t as usual
filters of --where:
  = != < <= > >= contains matches, and or not ( ); fields are topic, partition, offset, timestamp,
  key, value, headers.NAME, and inside of JSON value.a.b[0]; texts are in quotes
"""
_LINE: Final = "%d  %p/%o  %k  %v"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to print, from where on, and how."""
    parser.add_argument("topic", metavar="TOPIC")
    add_start_arguments(parser)
    parser.add_argument(
        "-n",
        "--number",
        type=int,
        metavar="N",
        help="end after N records; without a start the newest that are there count, too",
    )
    parser.add_argument(
        "-e", "--exit", action="store_true", help="end where the topic ends at present"
    )
    add_where_argument(parser)
    add_isolation_argument(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "-f", "--format", metavar="FORMAT", help="a line for each, such as '%%p %%o %%k %%v'"
    )
    how.add_argument("-o", "--output", choices=FORMATS, default="table", help="or whole records")
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print records until enough are printed, or until Ctrl-C."""
    if arguments.number is not None and arguments.number < 1:
        raise UsageError(f"-n {arguments.number}: print at least one")
    if arguments.exit and not _has_start(arguments) and arguments.number is None:
        raise UsageError("--exit needs a start, such as --from-beginning or --since 1h")
    wanted = chosen_filter(arguments)
    printer = _Printer(arguments, wanted)
    try:
        asyncio.run(_tail(arguments, printer))
    finally:
        printer.close()
    return 0


def _has_start(arguments: argparse.Namespace) -> bool:
    return arguments.from_beginning or arguments.offset is not None or arguments.since is not None


async def _tail(arguments: argparse.Namespace, printer: _Printer) -> None:
    partitions = await partitions_to_read(arguments)
    async with consumer_for(arguments) as consumer:
        begin = await starts(consumer, arguments, partitions)
        if arguments.number is not None and not _has_start(arguments):
            await _newest(consumer, partitions, arguments.number, printer)
            if printer.full or arguments.exit:
                return
        end = await consumer.end_offsets(partitions) if arguments.exit else None
        async with aclosing(read(consumer, begin, end)) as batches:
            async for records in batches:
                printer.print(records)
                if printer.full:
                    return


async def _newest(
    consumer: AsyncConsumer, partitions: list[TopicPartition], number: int, printer: _Printer
) -> None:
    """Of all partitions together the newest records, in the order of time."""
    end = await consumer.end_offsets(partitions)
    first = await consumer.beginning_offsets(partitions)
    begin = {at: max(first[at], end[at] - number) for at in partitions}
    found: list[ConsumerRecord] = []
    async with aclosing(read(consumer, begin, end)) as batches:
        async for records in batches:
            found += filter(printer.wants, records)
    found.sort(key=lambda record: (record.timestamp, record.partition, record.offset))
    printer.print(found[max(0, len(found) - number) :])


class _Printer:
    """Prints what is wanted, and counts."""

    def __init__(self, arguments: argparse.Namespace, wanted: Callable[[Any], bool] | None) -> None:
        self.wants: Callable[[Any], bool] = wanted or (lambda record: True)
        self._left = arguments.number
        try:
            self._line = record_format(arguments.format or _LINE)
        except BadFormat as flaw:
            raise UsageError(str(flaw)) from None
        self._rows = None
        if arguments.output != "table":
            self._rows = RowWriter(arguments.output)
        self._to_terminal = is_terminal(sys.stdout)

    @property
    def full(self) -> bool:
        """Whether enough were printed."""
        return self._left is not None and self._left <= 0

    def print(self, records: list[ConsumerRecord]) -> None:
        """Print those of a batch that are wanted."""
        for record in records:
            if self.full:
                break
            if self.wants(record):
                self._write(record)
                if self._left is not None:
                    self._left -= 1
        sys.stdout.flush()

    def _write(self, record: ConsumerRecord) -> None:
        if self._rows is not None:
            self._rows.write(record_json(record))
            return
        line = self._line(record)
        sys.stdout.buffer.write(shown_safely(line) if self._to_terminal else line)

    def close(self) -> None:
        """End what was begun: an array stays well-formed after Ctrl-C, too."""
        if self._rows is not None:
            self._rows.close()
