"""kafka-transactions: lists, describes and aborts transactions, and finds those that hang."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Awaitable, Sequence
from typing import Final, TypeVar

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import KAFKA_VERSION, run_with_parser
from ottla.cli.kafka.connect import ask
from ottla.cli.kafka.java_names import kafka_message
from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.times import now_ms
from ottla.client.administration.topics import Topics
from ottla.client.administration.transactions import (
    ProducerDescription,
    ProducerIdentity,
    Transactions,
)
from ottla.client.errors import ClientError
from ottla.protocol.errors import ErrorCode

T = TypeVar("T")
_NONE: Final = "None"
_NO_EPOCH_YET: Final = 0
# A producer that never finished a transaction is known without an epoch; this is below every epoch.


class TransactionAdmin(Topics, Transactions):
    """What is asked about transactions."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-transactions; the exit code."""
    return run_with_parser(_parser(), _execute, argv)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="kafka-transactions",
        description="Shows the transactions of producers, finds those that hang and aborts them.",
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action="version", version=KAFKA_VERSION)
    _add_brokers(parser, None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    command = commands.add_parser("list", help="list transactions")
    command.add_argument(
        "--duration-filter", type=int, help="only those open for more ms than this"
    )
    command.add_argument("--transactional-id-pattern", help="only ids that match this")
    command = commands.add_parser("describe", help="show the transaction of a transactional id")
    command.add_argument("--transactional-id", required=True)
    command = commands.add_parser("describe-producers", help="show who writes to a partition")
    command.add_argument("--broker-id", type=int, help="ask this replica, not the leader")
    _add_partition(command)
    command = commands.add_parser("abort", help="abort a transaction that hangs")
    _add_partition(command)
    command.add_argument("--start-offset", type=int, help="where the transaction begins")
    for name in ("--producer-id", "--producer-epoch", "--coordinator-epoch"):
        command.add_argument(name, type=int, help="instead of --start-offset, before Kafka 3.0")
    command = commands.add_parser("find-hanging", help="find transactions that hang")
    command.add_argument("--broker-id", type=int, help="look at the replicas of this broker")
    command.add_argument(
        "--max-transaction-timeout",
        type=int,
        default=15,
        help="minutes that a transaction may take (15 by default)",
    )
    command.add_argument("--topic", help="look at this topic; needed with --partition")
    command.add_argument("--partition", type=int)
    command = commands.add_parser(
        "forceTerminateTransaction", help="abort the transaction of an id, whose producer is fenced"
    )
    command.add_argument("--transactionalId", required=True)
    for command in commands.choices.values():
        _add_brokers(command, SUPPRESS)
    return parser


def _add_brokers(parser: ArgumentParser, default: str | None) -> None:
    """Kafka wants these before the command; people put them behind it as well."""
    parser.add_argument(
        "--command-config", metavar="FILE", default=default, help="a properties file for the client"
    )
    parser.add_argument(
        "--bootstrap-server",
        metavar="host:port",
        default=default,
        help="REQUIRED: brokers to ask first, with commas between several",
    )


def _add_partition(command: ArgumentParser) -> None:
    command.add_argument("--topic", required=True)
    command.add_argument("--partition", type=int, required=True)


def _execute(given: Namespace) -> int:
    _check(given)
    act = {
        "list": _list,
        "describe": _describe,
        "describe-producers": _describe_producers,
        "abort": _abort,
        "find-hanging": _find_hanging,
        "forceTerminateTransaction": _terminate,
    }[given.command]
    servers, file = given.bootstrap_server, given.command_config
    ask(TransactionAdmin, servers, file, lambda admin: act(admin, given))
    return 0


def _check(given: Namespace) -> None:
    if given.bootstrap_server is None:
        raise Failed("kafka-transactions: error: argument --bootstrap-server is required")
    if given.command == "abort" and given.start_offset is None:
        if given.producer_id is None:
            raise Failed(
                "The transaction to abort must be identified either with --start-offset (for "
                "brokers on 3.0 or above) or with --producer-id, --producer-epoch, and "
                "--coordinator-epoch (for older brokers)"
            )
        for name in ("producer_epoch", "coordinator_epoch"):
            if getattr(given, name) is None:
                raise Failed(f"Missing required argument --{name.replace('_', '-')}")
    if given.command == "find-hanging" and given.topic is None:
        if given.broker_id is None:
            raise Failed(
                "The `find-hanging` command requires either --topic or --broker-id to limit the "
                "scope of the search"
            )
        if given.partition is not None:
            raise Failed("The --partition argument requires --topic to be provided")


async def _list(admin: TransactionAdmin, given: Namespace) -> None:
    duration_ms = -1 if given.duration_filter is None else given.duration_filter
    listing = admin.list_transactions(
        running_longer_than_ms=duration_ms, transactional_id_pattern=given.transactional_id_pattern
    )
    found = await _or_fail("list transactions", listing)
    rows = [
        (each.transactional_id, node, each.producer_id, each.state)
        for node, transactions in found.items()
        for each in transactions
    ]
    _print(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


async def _describe(admin: TransactionAdmin, given: Namespace) -> None:
    name = given.transactional_id
    found = (await admin.describe_transactions([name]))[name]
    if isinstance(found, ApiError):
        why = kafka_message(found)
        if found.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            why = f"DescribeTransactions request for transactionalId `{name}` failed because the ID could not be found"
        raise _failure(f"describe transaction state of transactional-id `{name}`", why)
    started = found.start_ms >= 0
    columns = {
        "CoordinatorId": found.coordinator_id,
        "TransactionalId": name,
        "ProducerId": found.producer_id,
        "ProducerEpoch": found.producer_epoch,
        "TransactionState": found.state,
        "TransactionTimeoutMs": found.timeout_ms,
        "CurrentTransactionStartTimeMs": found.start_ms if started else _NONE,
        "TransactionDurationMs": now_ms() - found.start_ms if started else _NONE,
        "TopicPartitions": ",".join(map(str, found.partitions)),
    }
    _print(list(columns), [list(columns.values())])


async def _describe_producers(admin: TransactionAdmin, given: Namespace) -> None:
    at = TopicPartition(given.topic, given.partition)
    whom = "leader" if given.broker_id is None else f"broker {given.broker_id}"
    what = f"describe producers for partition {at} on {whom}"
    producers = await _producers(admin, what, at, given.broker_id)
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp_ms,
            each.transaction_start_offset if each.transaction_start_offset >= 0 else _NONE,
        )
        for each in producers
    ]
    header = ("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence")
    _print((*header, "LastTimestamp", "CurrentTransactionStartOffset"), rows)


async def _producers(
    admin: TransactionAdmin, what: str, at: TopicPartition, broker_id: int | None = None
) -> list[ProducerDescription]:
    await _refuse_unknown_broker(admin, broker_id)
    found = (await _or_fail(what, admin.describe_producers([at], broker_id=broker_id)))[at]
    if isinstance(found, ApiError):
        raise _failure(what, kafka_message(found))
    return found


async def _abort(admin: TransactionAdmin, given: Namespace) -> None:
    at = TopicPartition(given.topic, given.partition)
    if given.start_offset is None:
        identity = ProducerIdentity(given.producer_id, given.producer_epoch)
        epoch = given.coordinator_epoch
    else:
        what = f"validate producer state for partition {at}"
        open_here = [
            each
            for each in await _producers(admin, what, at)
            if each.transaction_start_offset == given.start_offset
        ]
        if not open_here:
            raise Failed(
                f"Could not find any open transactions starting at offset {given.start_offset} on "
                f"partition {at}"
            )
        identity = ProducerIdentity(open_here[0].producer_id, open_here[0].producer_epoch)
        epoch = open_here[0].coordinator_epoch
    marker = admin.abort_transaction(at, identity, max(epoch, _NO_EPOCH_YET))
    await _or_fail(f"abort the transaction of producer {identity.producer_id} on {at}", marker)


async def _terminate(admin: TransactionAdmin, given: Namespace) -> None:
    name = given.transactionalId
    found = (await admin.fence_producers([name]))[name]
    if isinstance(found, ApiError):
        raise _failure(f"terminate the transaction of `{name}`", kafka_message(found))


async def _find_hanging(admin: TransactionAdmin, given: Namespace) -> None:
    from ottla.cli.kafka.hanging_transactions import COLUMNS, find_hanging

    await _refuse_unknown_broker(admin, given.broker_id)
    partition = None if given.partition is None else TopicPartition(given.topic, given.partition)
    if partition is None and given.topic is not None:
        [topic] = (await admin.describe_topics([given.topic])).values()
        if isinstance(topic, ApiError):
            raise _failure("describe 1 topics", kafka_message(ApiError(topic.code)))
    rows = await find_hanging(
        admin, given.topic, partition, given.broker_id, given.max_transaction_timeout
    )
    _print(COLUMNS, rows)


async def _refuse_unknown_broker(admin: TransactionAdmin, broker_id: int | None) -> None:
    """Say at once that there is no such broker; the client would wait for it."""
    if broker_id is not None:
        known = (await admin.cluster.retried(admin.cluster.refresh)).brokers
        if broker_id not in known:
            there = ", ".join(map(str, sorted(known)))
            raise Failed(f"There is no broker {broker_id} at present; there are: {there}.")


async def _or_fail(what: str, asked: Awaitable[T]) -> T:
    try:
        return await asked
    except ApiError as refused:
        raise _failure(what, kafka_message(refused)) from None
    except ClientError as failure:
        raise _failure(what, str(failure)) from None


def _failure(what: str, why: str) -> Failed:
    return Failed(f"Failed to {what}: {why.rstrip('.')}.")


def _print(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns that end with a tab, as wide as the longest cell."""
    cells = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(header))]
    for row in cells:
        print("".join(f"{cell.ljust(width)}\t" for cell, width in zip(row, widths, strict=True)))
