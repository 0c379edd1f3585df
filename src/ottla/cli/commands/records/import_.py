"""`ottla records import`: writes the records of an exported file to a topic."""

from __future__ import annotations

import argparse

from ottla.cli.connect import add_broker_arguments
from ottla.cli.output import add_output_argument
from ottla.cli.record_files import STANDARD, count_records, format_of, read_records
from ottla.cli.writing import Writer

EXAMPLES = """examples:
  ottla records import orders --from orders.ndjson
  ottla records import copy-of-orders --from orders.parquet
  ottla records import wider --from orders.ndjson --repartition
Keys, values, headers, timestamps and partitions are those of the file; offsets are the topic's own.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What, and where to."""
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--from",
        dest="path",
        default=STANDARD,
        metavar="FILE",
        help="a name in .parquet is Parquet",
    )
    parser.add_argument("--format", choices=("ndjson", "parquet"), help="whatever the name says")
    parser.add_argument(
        "--repartition", action="store_true", help="choose partitions anew, by the keys"
    )
    parser.add_argument("--now", action="store_true", help="give the records the time of now")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write all of it."""
    path, file_format = arguments.path, format_of(arguments.path, arguments.format)
    total = count_records(path, file_format)
    with Writer(arguments, total) as writer:
        for where, record in read_records(path, file_format):
            changed = record
            if arguments.repartition:
                changed = changed._replace(partition=None)
            if arguments.now:
                changed = changed._replace(timestamp_ms=None)
            writer.write(changed, where)
        writer.finish(arguments.output)
    return 0
