"""Producing a batch of records with one body and one report."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

from ottla.base.errors import OttlaError
from ottla.http.rest.v3.declare import TOPIC, route
from ottla.http.rest.v3.produce import report, send
from ottla.http.rest.v3.record_data import (
    ProducedData,
    ProduceRequest,
    encoded_record,
)
from ottla.http.server.answers import encoded
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError, as_http

MOST_ENTRIES: Final = 1000


class BatchEntry(ProduceRequest, kw_only=True):
    """A record of a batch; its id is repeated in the report."""

    id: str


class ProduceBatchRequest(msgspec.Struct):
    """Records to be written."""

    entries: list[BatchEntry]


class BatchSuccess(msgspec.Struct, kw_only=True):
    """Where a record was written."""

    id: str
    cluster_id: str
    topic_name: str
    partition_id: int
    offset: int
    timestamp: str | None = None
    key: ProducedData | None = None
    value: ProducedData | None = None


class BatchFailure(msgspec.Struct):
    """Why a record was not written."""

    id: str
    error_code: int
    message: str


class ProduceBatchResponse(msgspec.Struct):
    """What became of the records."""

    successes: list[BatchSuccess]
    failures: list[BatchFailure]


async def produce_batch(call: Call) -> Any:
    """Write records, and report all of them at the end."""
    wanted: ProduceBatchRequest = await call.body()
    _check(wanted)
    cluster_id = await call.cluster_id()
    producer = (await call.link()).producer(call.caller)
    topic, sent, failures = call.path["topic_name"], [], []
    for entry in wanted.entries:
        try:
            sent.append((entry.id, await send(producer, topic, encoded_record(entry))))
        except OttlaError as error:
            failures.append(_failure(entry.id, error))
    successes = []
    for name, (record, delivery) in sent:
        try:
            said = msgspec.structs.asdict(report(record, await delivery, cluster_id))
        except OttlaError as error:
            failures.append(_failure(name, error))
        else:
            del said["error_code"]
            successes.append(BatchSuccess(id=name, **said))
    body = encoded(ProduceBatchResponse(successes, failures))
    return Response(body, 207, media_type="application/json")


def _check(wanted: ProduceBatchRequest) -> None:
    if not 0 < len(wanted.entries) <= MOST_ENTRIES:
        raise HttpError(422, f"a batch has 1 to {MOST_ENTRIES} entries", code=42206)
    ids = [each.id for each in wanted.entries]
    if any(not 0 < len(each) <= 80 for each in ids) or len(set(ids)) < len(ids):
        raise HttpError(422, "the ids of entries are distinct, with 1 to 80 characters", code=42206)


def _failure(name: str, error: OttlaError) -> BatchFailure:
    refusal = as_http(error)
    return BatchFailure(name, refusal.code, refusal.message)


ROUTES: Final = (
    route("POST", f"{TOPIC}/records:batch", produce_batch, "Produce a batch of records", "Records",
          body=ProduceBatchRequest, answer=ProduceBatchResponse, status=207),
)  # fmt: skip
