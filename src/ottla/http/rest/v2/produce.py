"""Producing records with v2."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from ottla.base.errors import ApiError, OttlaError
from ottla.client.delivery import Delivery
from ottla.client.errors import is_retriable
from ottla.http.rest.v2.declare import JSON, WITH_SCHEMA, embedded_format, no_registry, route
from ottla.http.rest.v2.topics import find_partition, find_topic
from ottla.http.server.call import Call
from ottla.http.server.errors import NOT_ALLOWED, HttpError, as_http


class V2Header(msgspec.Struct):
    """A header; its value is base64."""

    key: str
    value: str | None = None


class V2Record(msgspec.Struct):
    """A record to be written."""

    value: Any = None
    key: Any = None
    partition: int | None = None
    timestamp: int | None = None
    headers: list[V2Header] = []


class V2ProduceRequest(msgspec.Struct):
    """Records to be written."""

    records: list[V2Record]
    key_schema: str | UnsetType | None = UNSET
    key_schema_id: int | UnsetType | None = UNSET
    value_schema: str | UnsetType | None = UNSET
    value_schema_id: int | UnsetType | None = UNSET


class V2Offset(msgspec.Struct):
    """Where a record was written, or why it was not."""

    partition: int | None = None
    offset: int | None = None
    error_code: int | None = None
    error: str | None = None


class V2ProduceResponse(msgspec.Struct):
    """What became of the records, in their order."""

    offsets: list[V2Offset]
    key_schema_id: int | None = None
    value_schema_id: int | None = None


async def produce_to_topic(call: Call) -> V2ProduceResponse:
    """Write records to a topic."""
    return await _produce(call, None)


async def produce_to_partition(call: Call) -> V2ProduceResponse:
    """Write records to a partition."""
    await find_topic(call)
    return await _produce(call, (await find_partition(call)).index)


async def _produce(call: Call, partition: int | None) -> V2ProduceResponse:
    _refuse_schemas(call)
    form = embedded_format(call)
    wanted: V2ProduceRequest = await call.body()
    if not wanted.records:
        raise HttpError(422, "records may not be empty", code=422)
    # All of it or nothing, where the request itself is wrong.
    encoded = [(_bytes(each.key, form), _bytes(each.value, form)) for each in wanted.records]
    headers = [[(h.key, _base64(h.value)) for h in each.headers] for each in wanted.records]
    producer, topic = (await call.link()).producer(call.caller), call.path["topic_name"]
    sent: list[Delivery | OttlaError] = []
    for record, (key, value), own in zip(wanted.records, encoded, headers, strict=True):
        try:
            chosen = record.partition if partition is None else partition
            delivery = await producer.send(
                topic, value, key, partition=chosen, timestamp_ms=record.timestamp, headers=own
            )
            sent.append(delivery)
        except OttlaError as error:
            _raise_if_unknown(error)
            sent.append(error)
    return V2ProduceResponse([await _outcome(each) for each in sent])


def _refuse_schemas(call: Call) -> None:
    given = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given in WITH_SCHEMA:
        raise no_registry(given)


async def _outcome(sent: Delivery | OttlaError) -> V2Offset:
    if isinstance(sent, OttlaError):
        return _failed(sent)
    try:
        metadata = await sent
    except OttlaError as error:
        return _failed(error)
    return V2Offset(metadata.partition, metadata.offset)


def _failed(error: OttlaError) -> V2Offset:
    """1 is what will not be written however often it is sent, 2 is what may be."""
    if isinstance(error, ApiError) and error.code in NOT_ALLOWED:
        return V2Offset(error_code=as_http(error).code, error=str(error))
    return V2Offset(error_code=2 if is_retriable(error) else 1, error=str(error))


def _raise_if_unknown(error: OttlaError) -> None:
    if as_http(error).status in (401, 404, 503):
        raise error


def _bytes(value: Any, form: str) -> bytes | None:
    if form == JSON:
        return None if value is None else msgspec.json.encode(value)
    return _base64(value)


def _base64(value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise HttpError(
            422, "a key, value or header is not base64, which this content type asks for"
        ) from None


ROUTES: Final = (
    route("POST", "/topics/{topic_name}", produce_to_topic, "Produce records", body=V2ProduceRequest,
          answer=V2ProduceResponse),
    route("POST", "/topics/{topic_name}/partitions/{partition_id}", produce_to_partition,
          "Produce records to a partition", body=V2ProduceRequest, answer=V2ProduceResponse),
)  # fmt: skip
