"""The reference of the Python clients, out of the code itself: every method, its types, and what it does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

import ottla
from ottla.client.admin import VERBS

CLIENTS = ("Producer", "Consumer", "Admin")
RESULTS = (
    "Delivery",
    "RecordMetadata",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "GroupMetadata",
    "UnreadableRecord",
)

ERRORS = (
    (
        "`ConfigError`",
        "a setting that does not exist, or a value it cannot have",
        "correct the setting that it names",
    ),
    (
        "`BrokerUnreachable` (a `ClientError`)",
        "nobody listens on any of `bootstrap.servers`, when the cluster was never met",
        "check host and port; later on, brokers that are away are waited for",
    ),
    (
        "`AuthenticationFailed` (a `ClientError`)",
        "the broker refused the login or the certificate",
        "correct `security.protocol`, `sasl.` and `ssl.` settings",
    ),
    (
        "`RequestTimedOut` (a `ClientError`)",
        "no answer within `request.timeout.ms`, `max.block.ms`, `delivery.timeout.ms` or `default.api.timeout.ms`",
        "whether the request took effect is unknown; an idempotent producer has tried again by itself. "
        "From `commit_transaction`: call it again, which tells the outcome",
    ),
    (
        "`UnreadableRecord` (a `ClientError`)",
        "a deserializer failed, or a batch is damaged",
        "each poll raises it until you seek: `consumer.seek(error.partition, error.next_offset)` passes over it",
    ),
    (
        "`OttlaError`: ... is closed",
        "the client was closed, perhaps by another thread",
        "make another one",
    ),
    (
        "`OttlaError`: ... before the process forked",
        "the client belongs to the parent process",
        "make a client in each process",
    ),
    (
        "`OttlaError`: not now: ...",
        "transactions were called in the wrong order",
        "the sentence names the call that is missing",
    ),
    (
        "`ApiError` MESSAGE_TOO_LARGE",
        "a record exceeds `max.request.size`, or `max.message.bytes` of its topic; larger batches are split",
        "raise both, or send less",
    ),
    (
        "`ApiError` UNKNOWN_TOPIC_OR_PARTITION",
        "the topic, or that partition of it, does not exist",
        "create it, or correct the name",
    ),
    (
        "`ApiError` ..._AUTHORIZATION_FAILED",
        "an access rule forbids it",
        "ask for the right, or use another login",
    ),
    (
        "`ApiError` OFFSET_OUT_OF_RANGE",
        "`auto.offset.reset` is none, and there is no such offset, or no committed one",
        "each poll raises it until you seek",
    ),
    (
        "`ApiError` UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH",
        "a commit came too late: the group has rebalanced, the partitions may be another member's",
        "abort the transaction if there is one and poll again; poll more often, or raise `max.poll.interval.ms`",
    ),
    (
        "`ApiError` FENCED_INSTANCE_ID",
        "another consumer has the same `group.instance.id`",
        "close this one; give each its own",
    ),
    (
        "`ApiError` PRODUCER_FENCED, INVALID_PRODUCER_EPOCH",
        "a newer producer has the same `transactional.id`, or the transaction took longer than "
        "`transaction.timeout.ms`",
        "close this producer; make another if this process is the one to go on",
    ),
    (
        "`ApiError` OUT_OF_ORDER_SEQUENCE_NUMBER",
        "records that were acknowledged are missing in front of this one",
        "look for brokers that lost data (`acks`, `min.insync.replicas`, unclean elections)",
    ),
    (
        "`ApiError` KAFKA_STORAGE_ERROR",
        "the disk of the leader is full or broken",
        "make room; the producer tries again until `delivery.timeout.ms`",
    ),
)
"""Which error, what it means, what to do."""

DIFFERENCES = (
    (
        "`key.serializer`, `value.serializer` and their counterparts",
        "required",
        "bytes",
        "nothing to be configured for bytes",
    ),
    (
        "`partition.assignment.strategy`",
        "range, cooperative-sticky",
        "the same, as `range,cooperative-sticky`",
        "Kafka's class names are understood, too",
    ),
    (
        "errors in rebalance listeners and commit callbacks",
        "raised by `poll`",
        "logged with their traceback",
        "one mistake of a listener does not stop a member of a group",
    ),
    (
        "`ottla records tail`, `ottla records export`",
        "`kafka-console-consumer` reads uncommitted records",
        "`read_committed`",
        "what was aborted must not look as if it were written",
    ),
    (
        "`commit_async` after a failure that passes",
        "not repeated",
        "repeated, in the order of all commits",
        "a later commit waits for it, and is never taken back",
    ),
)
"""What differs, at Kafka's Java client, here, and why."""


def reference() -> str:
    """Every method of every client, the errors, and the differences from Kafka's own."""
    parts = [
        "## Reference",
        "Methods are those of `Producer`, `Consumer` and `Admin`. Those of `AsyncProducer`, `AsyncConsumer` and "
        "`AsyncAdmin` have the same names and arguments; those marked † are awaited there.",
    ]
    for name in CLIENTS:
        parts += [f"### {name}", "\n".join(_methods(name))]
    parts += ["### What they return", "\n".join(_results())]
    parts += [
        "## Errors",
        "All are `ottla.OttlaError`. `ApiError` is what a broker answered: `error.code` says which.",
    ]
    parts.append(_table(("error", "what it means", "what to do"), ERRORS))
    parts += ["## Differences from Kafka's Java client"]
    parts.append(_table(("what", "there", "here", "why"), DIFFERENCES))
    return "\n\n".join(parts)


def _methods(name: str) -> Iterator[str]:
    kind, twin = getattr(ottla, name), getattr(ottla, f"Async{name}")
    yield from ("| method | what it does |", "|---|---|")
    verbs = {verb: path for path, verbs in VERBS.items() for verb in verbs}
    for verb in public(kind):
        method = getattr(kind, verb)
        awaited = name == "Admin" or inspect.iscoroutinefunction(getattr(twin, verb, None))
        shown = f"`{verb}{_signature(method)}`{' †' if awaited else ''}"
        assert name != "Admin" or verb in verbs or verb == "close", verb
        yield f"| {_cell(shown)} | {_cell(_first(method))} |"
    for verb in public(twin):
        if not hasattr(kind, verb):
            method = getattr(twin, verb)
            what = f"`{verb}{_signature(method)}` †"
            yield f"| {_cell(what)} | {_cell(_first(method))} Only where it is awaited. |"


def public(kind: type) -> list[str]:
    """The methods of a client in the order of its source."""
    return [
        name
        for name, each in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(each)
    ]


def _signature(method: object) -> str:
    signature = inspect.signature(method)  # type: ignore[arg-type]  # a function, as `public` has found
    own = [each for each in signature.parameters.values() if each.name != "self"]
    text = str(signature.replace(parameters=own))
    text = re.sub(r"ottla(?:\.\w+)*\.(\w+)", r"\1", text).replace("'", "")
    text = (
        text.replace("collections.abc.", "")
        .replace("typing.", "")
        .replace("Standing", "GroupMetadata")
    )
    return re.sub(r"<(\w+\.\w+): -?\d+>", r"\1", text)


def _results() -> Iterator[str]:
    for name in RESULTS:
        kind = getattr(ottla, name)
        fields = getattr(kind, "_fields", None)
        if fields is None:
            fields = [f"{each}()" for each in public(kind)] or [
                "partition",
                "offset",
                "next_offset",
            ]
        text = ", ".join(f"`{each}`" for each in fields)
        yield f"- `{name}`: {text}. {_first(kind)}"


def _first(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
