"""Producing records: a stream of them in, a stream of reports out, in the same order.

The body is read as fast as the cluster takes records and the caller takes reports: what waits in between is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, Final, TypeAlias

import msgspec

from ottla.base.errors import OttlaError
from ottla.client.async_producer import AsyncProducer
from ottla.client.delivery import Delivery, RecordMetadata
from ottla.http.rest.v3.declare import TOPIC, route
from ottla.http.rest.v3.record_data import (
    Encoded,
    ProduceReport,
    ProduceRequest,
    ProduceResponse,
    encoded_record,
    iso_time,
)
from ottla.http.server.answers import DuplexResponse, encoded
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect, HttpError, as_http, rendered
from ottla.http.server.json_stream import JsonStream, TooLong

IN_FLIGHT: Final = 1000
"""Records of one stream that were sent and not yet reported."""
_JSON: Final = "application/json"
Sent: TypeAlias = tuple[Encoded, Delivery]
_DECODER: Final = msgspec.json.Decoder(ProduceRequest)


async def produce(call: Call) -> Any:
    """Write records to a topic, and report each."""
    cluster_id = await call.cluster_id()
    return DuplexResponse(_reports(call, cluster_id), media_type=_JSON)


async def _reports(call: Call, cluster_id: str) -> AsyncIterator[bytes]:
    topic = call.path["topic_name"]
    queue: asyncio.Queue[Sent | HttpError | None] = asyncio.Queue(IN_FLIGHT)
    sending = asyncio.ensure_future(_send_all(call, topic, queue))
    try:
        while (item := await queue.get()) is not None:
            together = [_report(await _outcome(item), cluster_id)]
            while not queue.empty() and queue.qsize() and len(together) < 500:
                more = queue.get_nowait()
                if more is None:
                    yield b"".join(together)
                    return
                together.append(_report(await _outcome(more), cluster_id))
            yield b"".join(together)
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


async def _send_all(call: Call, topic: str, queue: asyncio.Queue[Sent | HttpError | None]) -> None:
    """Send what the body holds; what is wrong with a record is its report, and the rest goes on."""
    producer = (await call.link()).producer(call.caller)
    most = call.services.settings.max_request_bytes
    try:
        async with aclosing(_objects(call)) as objects:
            async for data in objects:
                try:
                    await queue.put(await send(producer, topic, _decoded(data, most)))
                except (OttlaError, TimeoutError) as error:
                    await queue.put(as_http(error))
    except HttpError as error:
        await queue.put(error)
    await queue.put(None)


async def send(producer: AsyncProducer, topic: str, record: Encoded) -> Sent:
    """Put a record into a batch."""
    delivery = await producer.send(
        topic,
        record.value,
        record.key,
        partition=record.partition,
        timestamp_ms=record.timestamp_ms,
        headers=record.headers,
    )
    return record, delivery


def report(record: Encoded, metadata: RecordMetadata, cluster_id: str) -> ProduceResponse:
    """Where a record was written."""
    return ProduceResponse(
        cluster_id=cluster_id,
        topic_name=metadata.topic,
        partition_id=metadata.partition,
        offset=metadata.offset,
        timestamp=iso_time(metadata.timestamp),
        key=record.key_data,
        value=record.value_data,
    )


async def _objects(call: Call) -> AsyncGenerator[bytes, None]:
    """The objects of the body, whole."""
    most = call.services.settings.max_request_bytes
    cutter = JsonStream(most)
    try:
        async with aclosing(call.body_chunks()) as chunks:
            async for chunk in chunks:
                for data in cutter.feed(chunk):
                    yield data
    except TooLong:
        raise _too_long(most) from None
    if rest := cutter.end():
        yield rest


def _decoded(data: bytes, most: int) -> Encoded:
    if len(data) > most:
        raise _too_long(most)
    try:
        return encoded_record(_DECODER.decode(data))
    except msgspec.ValidationError as flaw:
        raise HttpError(422, f"this is no record: {flaw}", code=422) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as flaw:
        raise HttpError(400, f"this is no JSON: {flaw}", code=400) from None


def _too_long(most: int) -> HttpError:
    return HttpError(
        413, f"a record of the body is longer than {most} bytes (ottla.http.max.request.bytes)"
    )


async def _outcome(item: Sent | HttpError) -> tuple[Encoded, RecordMetadata] | HttpError:
    if isinstance(item, HttpError):
        return item
    record, delivery = item
    try:
        return record, await delivery
    except OttlaError as error:
        return as_http(error)


def _report(found: tuple[Encoded, RecordMetadata] | HttpError, cluster_id: str) -> bytes:
    if isinstance(found, HttpError):
        return encoded(rendered(found, Dialect.V3).body) + b"\n"
    return encoded(report(*found, cluster_id)) + b"\n"


ROUTES: Final = (
    route("POST", f"{TOPIC}/records", produce, "Produce records", "Records", body=ProduceRequest,
          answer=ProduceReport, streamed_body=True, unlimited=True),
)  # fmt: skip
