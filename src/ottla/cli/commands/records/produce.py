"""`ottla records produce`: writes lines to a topic."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any

from ottla.base.errors import OttlaError
from ottla.cli.connect import add_broker_arguments, assignments
from ottla.cli.output import add_output_argument
from ottla.cli.parsing import UsageError, complain
from ottla.cli.writing import Writer, count_lines, lines_of
from ottla.inspection.filter_terms import walk
from ottla.inspection.record_json import NewRecord, NotARecord, is_record_json, new_record

EXAMPLES = """examples:
  echo 'hello' | ottla records produce greetings
  ottla records produce orders --from orders.ndjson
  ottla records produce orders --from orders.ndjson --key-field customer.id
  ottla records produce prices --key-separator : < prices.txt
  ottla records tail orders --from-beginning -e -o ndjson | ottla records produce copy
Each line is a value. But if the first line is the JSON of a record, as `tail -o ndjson` prints it
(an object with a value, and nothing but topic, partition, offset, timestamp, key and headers beside
it), then all lines are taken as records; --as values or --as records decides it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to write, and with which keys."""
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--from", dest="path", metavar="FILE", help="read this, not what is piped")
    parser.add_argument(
        "--as", dest="kind", choices=("auto", "values", "records"), default="auto",
        help="what a line is (default: auto)",
    )  # fmt: skip
    key = parser.add_mutually_exclusive_group()
    key.add_argument("-k", "--key", metavar="TEXT", help="the key of every record")
    key.add_argument("--key-separator", metavar="TEXT", help="what stands between key and value")
    key.add_argument(
        "--key-field", metavar="a.b", help="take the key from this place in the JSON of the value"
    )
    parser.add_argument(
        "-H", "--header", action="append", default=[], metavar="NAME=VALUE",
        help="a header of every record; may be given again",
    )  # fmt: skip
    parser.add_argument("-p", "--partition", type=int, metavar="N", help="write to this one")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write all lines."""
    total = count_lines(arguments.path)
    with Writer(arguments, total) as writer:
        for where, record in _records(arguments):
            writer.write(record, where)
        writer.finish(arguments.output)
    return 0


def _records(arguments: argparse.Namespace) -> Iterator[tuple[str, NewRecord]]:
    headers = tuple(
        (name, value.encode()) for name, value in assignments(arguments.header, "-H").items()
    )
    name = arguments.path or "line"
    lines: Iterator[bytes] = iter(lines_of(arguments.path))
    first = next(lines, None)
    if first is None:
        return
    as_records = arguments.kind == "records" or (
        arguments.kind == "auto" and is_record_json(_json_or_none(first))
    )
    if as_records and arguments.kind == "auto":
        _refuse_keys(arguments)
        complain("the lines are taken as whole records (--as values takes them as values)")
    for number, line in enumerate(_chained(first, lines), 1):
        where = f"{name}, line {number}" if arguments.path else f"line {number}"
        record = _whole(line, where) if as_records else _value(arguments, line, where)
        if arguments.partition is not None:
            record = record._replace(partition=arguments.partition)
        yield where, record._replace(headers=record.headers + headers)


def _refuse_keys(arguments: argparse.Namespace) -> None:
    if arguments.key or arguments.key_separator or arguments.key_field:
        raise UsageError("these lines are records with keys of their own; --as values changes that")


def _chained(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _whole(line: bytes, where: str) -> NewRecord:
    try:
        return new_record(_parsed(line, where))
    except NotARecord as flaw:
        raise OttlaError(f"{where} {flaw}") from None


def _value(arguments: argparse.Namespace, line: bytes, where: str) -> NewRecord:
    if arguments.key is not None:
        return NewRecord(line, arguments.key.encode())
    if arguments.key_separator is not None:
        key, found, value = line.partition(arguments.key_separator.encode())
        if not found:
            raise OttlaError(f"{where} has no {arguments.key_separator!r} between key and value")
        return NewRecord(value, key)
    if arguments.key_field is not None:
        steps: list[str | int] = list(arguments.key_field.split("."))
        key = walk(_parsed(line, where), steps)
        if key is None:
            raise OttlaError(f"{where} has no {arguments.key_field} to take as its key")
        text = key if isinstance(key, str) else json.dumps(key, ensure_ascii=False)
        return NewRecord(line, text.encode())
    return NewRecord(line)


def _parsed(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as flaw:
        raise OttlaError(f"{where} is no JSON: {flaw}") from None


def _json_or_none(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
