"""Transactions: list them, look into one, abort those that are open or hang."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import msgspec

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.transactions import ProducerIdentity, TransactionDescription
from ottla.config.kinds import ListOf, Long, OptionalText
from ottla.http.rest.own.declare import CLUSTER, route
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.http.server.routes import Query
from ottla.inspection.hanging_transactions import hanging
from ottla.inspection.outcomes import raise_first

_TAG: Final = "Transactions"
_SILENT_MS: Final = 900_000


class TransactionEntry(msgspec.Struct):
    """A transactional id."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator_id: int


class TransactionList(msgspec.Struct):
    """Transactional ids."""

    data: list[TransactionEntry]


class TransactionPlace(msgspec.Struct):
    """A partition that a transaction wrote to."""

    topic_name: str
    partition_id: int


class TransactionData(msgspec.Struct):
    """A transactional id with its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    coordinator_id: int
    timeout_ms: int
    start_ms: int
    partitions: list[TransactionPlace]


class HangingEntry(msgspec.Struct):
    """A transaction that no coordinator will ever end."""

    topic_name: str
    partition_id: int
    producer_id: int
    producer_epoch: int
    start_offset: int
    last_ms: int
    transactional_id: str | None


class HangingList(msgspec.Struct):
    """Transactions that hang."""

    data: list[HangingEntry]


class AbortHangingRequest(msgspec.Struct):
    """Where a transaction hangs."""

    topic_name: str
    partition_id: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    start_offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


async def list_transactions(call: Call) -> TransactionList:
    """Return the transactional ids that coordinators know."""
    found = await (await call.admin()).list_transactions(
        states=call.query["state"] or (),
        running_longer_than_ms=call.query["running_longer_than_ms"],
        transactional_id_pattern=call.query["pattern"],
    )
    entries = [
        TransactionEntry(each.transactional_id, each.producer_id, each.state, node)
        for node, listed in found.items()
        for each in listed
    ]
    return TransactionList(sorted(entries, key=lambda each: each.transactional_id))


async def get_transaction(call: Call) -> TransactionData:
    """Return one transactional id."""
    name = call.path["transactional_id"]
    return _data(name, await _described(call, name))


async def abort(call: Call) -> TransactionData:
    """Abort what is open, and fence the producer off: it has to begin again."""
    name, admin = call.path["transactional_id"], await call.admin()
    await _described(call, name)
    raise_first(await admin.fence_producers([name]))
    return _data(name, await _described(call, name))


async def list_hanging(call: Call) -> HangingList:
    """Return transactions that are open in a partition and unknown to every coordinator."""
    admin = await call.admin()
    topics = await admin.list_topics()
    partitions = [
        TopicPartition(topic.name, each.index)
        for topic in topics.values()
        for each in topic.partitions
        if each.leader >= 0
    ]
    since = round(time.time() * 1000) - call.query["silent_for_ms"]
    found = await hanging(admin, partitions, silent_since_ms=since) if partitions else []
    return HangingList(
        [
            HangingEntry(
                each.at.topic,
                each.at.partition,
                each.producer.producer_id,
                each.producer.producer_epoch,
                each.producer.transaction_start_offset,
                each.producer.last_timestamp_ms,
                each.transactional_id,
            )
            for each in found
        ]
    )


async def abort_hanging(call: Call) -> None:
    """Write an abort marker where a transaction hangs."""
    wanted: AbortHangingRequest = await call.body()
    at, admin = TopicPartition(wanted.topic_name, wanted.partition_id), await call.admin()
    producers = (await admin.describe_producers([at]))[at]
    if isinstance(producers, ApiError):
        raise producers
    for each in producers:
        if each.transaction_start_offset == wanted.start_offset:
            identity = ProducerIdentity(each.producer_id, each.producer_epoch)
            await admin.abort_transaction(at, identity, max(each.coordinator_epoch, 0))
            return
    raise HttpError(404, f"no transaction in {at} begins at offset {wanted.start_offset}", code=404)


async def _described(call: Call, name: str) -> TransactionDescription:
    found = (await (await call.admin()).describe_transactions([name]))[name]
    if isinstance(found, ApiError):
        raise found
    return found


def _data(name: str, found: TransactionDescription) -> TransactionData:
    return TransactionData(
        name,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.coordinator_id,
        found.timeout_ms,
        found.start_ms,
        [TransactionPlace(*at) for at in found.partitions],
    )


_LIST_QUERY: Final = (
    Query("state", ListOf(), "Only these states, such as Ongoing."),
    Query("running_longer_than_ms", Long(-1), "Only those that are open for longer.", -1),
    Query(
        "pattern", OptionalText(), "Only ids that match this regular expression (of the broker)."
    ),
)
_ONE: Final = f"{CLUSTER}/transactions/{{transactional_id}}"
_SILENT: Final = Query(
    "silent_for_ms", Long(0), "Only those whose producer was silent for so long.", _SILENT_MS
)
ROUTES: Final[tuple[Any, ...]] = (
    route("GET", f"{CLUSTER}/transactions", list_transactions, "List transactions", _TAG,
          query=_LIST_QUERY, answer=TransactionList),
    route("GET", _ONE, get_transaction, "Get a transaction", _TAG, answer=TransactionData),
    route("POST", f"{_ONE}/abort", abort, "Abort a transaction", _TAG, answer=TransactionData),
    route("GET", f"{CLUSTER}/transactions/-/hanging", list_hanging, "Find hanging transactions", _TAG,
          query=(_SILENT,), answer=HangingList),
    route("POST", f"{CLUSTER}/transactions/-/hanging:abort", abort_hanging,
          "Abort a hanging transaction", _TAG, body=AbortHangingRequest),
)  # fmt: skip
