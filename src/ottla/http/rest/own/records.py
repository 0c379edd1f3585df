"""Reading records without a consumer: by partition, offset, time, key and filter, in many formats."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Final

import msgspec
from starlette.responses import Response

from ottla.base.errors import OttlaError
from ottla.config.kinds import Int, ListOf, Long, OneOf, OptionalText
from ottla.http.rest.own.choosing import chosen_records
from ottla.http.rest.own.cursors import cursor_text
from ottla.http.rest.own.declare import TOPIC, route
from ottla.http.rest.own.formats import CONTENT_TYPES, JSON, SSE, WRITERS, Writer, chosen_format
from ottla.http.rest.own.places import begin_and_end
from ottla.http.rest.own.reading import SETTINGS, Reading
from ottla.http.server.answers import encoded, stream
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect, HttpError, as_http, rendered
from ottla.http.server.routes import Query
from ottla.inspection.record_json import record_json

_HEARTBEAT_S: Final = 15.0
_DEFAULT_LIMIT: Final = 100


class RecordListMetadata(msgspec.Struct):
    """Where this page was found, and the next one."""

    self: str
    next: str | None


class RecordList(msgspec.Struct):
    """Records; `cursor` goes on behind them, `end` says that there is no more now."""

    kind: str
    metadata: RecordListMetadata
    data: list[dict[str, Any]]
    cursor: str
    end: bool
    scanned: int


async def read_records(call: Call) -> Any:
    """Return records of a topic.

    Begins at `cursor`, `offset`, `timestamp`, or else at the first record; a negative `offset` means so many before
    the end of each partition. `format=sse` begins at the end unless told otherwise, and goes on for ever.
    """
    form = chosen_format(call.query["format"], call.request.headers.get("accept", ""))
    limit = _limit(call, form)
    choice = chosen_records(call.query["key"], call.query["filter"])
    writer = None if form in (JSON, SSE) else WRITERS[form]()
    consumer = (await call.link()).consumer(
        call.caller, isolation_level=call.query["isolation"], **SETTINGS
    )
    try:
        begin, end = await begin_and_end(call, consumer, live=form == SSE)
    except BaseException:
        await consumer.close()
        raise
    reading = Reading(consumer, begin, end, choice, limit)
    if form == JSON:
        try:
            return await _page(call, reading)
        finally:
            await reading.close()
    if writer is None:
        return stream(_events(reading), CONTENT_TYPES[SSE])
    name = f"{call.path['topic_name']}.{form}"
    headers = {"content-disposition": f'attachment; filename="{name}"'} if form != "ndjson" else {}
    return stream(_chunks(reading, writer), CONTENT_TYPES[form], headers=headers)


def _limit(call: Call, form: str) -> int | None:
    limit: int | None = call.query["limit"]
    if form == JSON:
        most = call.services.settings.max_records
        if limit is not None and limit > most:
            raise HttpError(
                422,
                f"one JSON document holds at most {most} records (ottla.http.max.records); ask for "
                "format=ndjson, or go on with the cursor",
                code=422,
            )
        return _DEFAULT_LIMIT if limit is None else limit
    return limit


async def _page(call: Call, reading: Reading) -> Response:
    """One JSON document: what is found in time, and where to go on."""
    data: list[dict[str, Any]] = []
    until = time.monotonic() + call.query["timeout_ms"] / 1000
    async with aclosing(reading.batches(until)) as batches:
        async for records in batches:
            data += map(record_json, records)
    cursor = cursor_text({at.partition: each for at, each in reading.next_offsets.items()})
    here = call.request.url
    next_page = None if reading.at_end else str(
        here.remove_query_params(["offset", "timestamp"]).include_query_params(cursor=cursor)
    )  # fmt: skip
    metadata = RecordListMetadata(str(here), next_page)
    page = RecordList("KafkaRecordList", metadata, data, cursor, reading.at_end, reading.scanned)
    headers = {} if next_page is None else {"link": f'<{next_page}>; rel="next"'}
    return Response(encoded(page), 200, headers, "application/json")


async def _chunks(reading: Reading, writer: Writer) -> AsyncIterator[bytes]:
    """Each batch is written when the one before it has left."""
    try:
        async with aclosing(reading.batches()) as batches:
            async for records in batches:
                if data := writer.write(records):
                    yield data
        yield writer.end()
    finally:
        await reading.close()


async def _events(reading: Reading) -> AsyncGenerator[bytes, None]:
    """Server-sent events; the id of each goes on behind it (Last-Event-ID)."""
    said_at = time.monotonic()
    yield b"retry: 2000\n\n"
    try:
        async with aclosing(reading.batches()) as batches:
            async for records in batches:
                if records:
                    yield _event(reading, records)
                    said_at = time.monotonic()
                elif time.monotonic() - said_at > _HEARTBEAT_S:
                    yield b": still here\n\n"
                    said_at = time.monotonic()
    except OttlaError as error:
        body = encoded(rendered(as_http(error), Dialect.OWN).body)
        yield b"event: problem\ndata: " + body + b"\n\n"
    finally:
        await asyncio.shield(reading.close())


def _event(reading: Reading, records: list[Any]) -> bytes:
    cursor = cursor_text({at.partition: each for at, each in reading.next_offsets.items()}).encode()
    lines = [b"data: " + encoded(record_json(each)) + b"\n\n" for each in records]
    # The cursor is behind all of the batch: it belongs to its last event.
    lines[-1] = b"id: " + cursor + b"\n" + lines[-1]
    return b"".join(lines)


_QUERY: Final = (
    Query("partition", ListOf(), "Only these partitions, such as 0,2."),
    Query("offset", Long(), "Begin at this offset; -N for the last N of each partition."),
    Query("timestamp", OptionalText(), "Begin at this time: ms, 2026-01-31T12:00:00, or 1h for an hour ago."),
    Query("until", OptionalText(), "End at this time."),
    Query("cursor", OptionalText(), "Begin where the page with this cursor ended."),
    Query("key", OptionalText(), "Only records with this key."),
    Query("filter", OptionalText(), "Only records that match, such as value.amount > 100."),
    Query("limit", Int(0), "At most so many records; 100 in JSON, no limit in the other formats."),
    Query("format", OneOf(*CONTENT_TYPES), "The format, unless the Accept header names it."),
    Query("isolation", OneOf("read_uncommitted", "read_committed"), "What to show of transactions.",
          "read_uncommitted"),
    Query("timeout_ms", Int(0, 60_000), "How long to look for records, in JSON.", 5000),
)  # fmt: skip
ROUTES: Final = (
    route("GET", f"{TOPIC}/records", read_records, "Read records", "Records", query=_QUERY,
          answer=RecordList, unlimited=True,
          gives=tuple(name.partition(";")[0] for name in CONTENT_TYPES.values())),
)  # fmt: skip
