"""`ottla transactions abort`: ends a transaction, through its coordinator or where it hangs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.base.errors import ApiError, OttlaError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import chosen_partitions, find_topic
from ottla.cli.output import Report, add_output_argument
from ottla.cli.parsing import UsageError
from ottla.cli.transactional_ids import find_transaction
from ottla.inspection.outcomes import raise_first
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.transactions import ProducerDescription

EXAMPLES = """examples:
  ottla transactions abort payments-1
  ottla transactions abort --topic orders --partition 0 --start-offset 1200
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """An id, or a place."""
    parser.add_argument(
        "transactional_id", nargs="?", metavar="ID", help="its producer is fenced off, too"
    )
    parser.add_argument("-t", "--topic", metavar="TOPIC", help="where a transaction hangs")
    parser.add_argument("-p", "--partition", type=int, metavar="N")
    parser.add_argument("--start-offset", type=int, metavar="N", help="where it began")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Abort it."""
    place = (arguments.topic, arguments.partition, arguments.start_offset)
    if arguments.transactional_id is not None:
        if place != (None, None, None):
            raise UsageError("give an id, or a place with --topic, but not both")
        done = ask(arguments, lambda admin: _by_id(admin, arguments.transactional_id))
    elif None in place:
        raise UsageError("give an id, or all of --topic, --partition and --start-offset")
    else:
        done = ask(arguments, lambda admin: _by_place(admin, *place))
    with Report(arguments.output) as report:
        report.tell(done.pop("sentence"), **done)
    return 0


async def _by_id(admin: Admin, name: str) -> dict[str, Any]:
    before = await find_transaction(admin, name)
    fenced = await admin.fence_producers([name])
    refused = fenced[name]
    if isinstance(refused, ApiError) and refused.code == ErrorCode.INVALID_TXN_STATE:
        raise OttlaError(
            f"{name} belongs to a sink and ends with its batch; `ottla sinks list` shows which one, and "
            "`ottla sinks abort SINK` aborts all that it has open"
        )
    raise_first(fenced)
    was_open = before.state == "Ongoing"
    done = "aborted the transaction of" if was_open else "no transaction was open of"
    return {
        "sentence": f"{done} {name}; its producer has to begin again",
        "transactional_id": name,
        "aborted": was_open,
    }


async def _by_place(admin: Admin, topic: str, partition: int, start_offset: int) -> dict[str, Any]:
    from ottla.client.administration.transactions import ProducerIdentity

    [at] = chosen_partitions(await find_topic(admin, topic), [partition])
    producers = (await admin.describe_producers([at]))[at]
    if isinstance(producers, ApiError):
        raise producers
    producer = _beginning_at(producers, start_offset, str(at))
    identity = ProducerIdentity(producer.producer_id, producer.producer_epoch)
    await admin.abort_transaction(at, identity, max(producer.coordinator_epoch, 0))
    return {
        "sentence": f"aborted the transaction of producer {producer.producer_id} in {at}",
        "topic": topic,
        "partition": partition,
        "producer_id": producer.producer_id,
        "aborted": True,
    }


def _beginning_at(
    producers: list[ProducerDescription], start_offset: int, where: str
) -> ProducerDescription:
    for each in producers:
        if each.transaction_start_offset == start_offset:
            return each
    open_ones = sorted({each.transaction_start_offset for each in producers} - {-1})
    shown = f"one begins at {', '.join(map(str, open_ones))}" if open_ones else "none is open there"
    raise OttlaError(f"no transaction in {where} begins at offset {start_offset}; {shown}")
