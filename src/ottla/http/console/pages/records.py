"""/ui/topics/{topic}/records: a page of records, found by offset, time, key and filter; live, exported, written."""

from __future__ import annotations

import json
import time
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from ottla.config.kinds import Int, ListOf, Long, OptionalText
from ottla.http.console.commands import consumer_python, copies, query_of, quoted, stream_python
from ottla.http.console.render import page
from ottla.http.rest.own.choosing import chosen_records
from ottla.http.rest.own.cursors import cursor_text
from ottla.http.rest.own.places import begin_and_end
from ottla.http.rest.own.reading import SETTINGS, Reading
from ottla.http.rest.v3.partitions import find_topic
from ottla.http.server.call import Call, joined
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Query, Route
from ottla.inspection.human_units import iso
from ottla.inspection.record_json import record_json

_WITHIN_S: Final = 3.0
_LONGEST: Final = 20_000
_MOST_READ: Final = 2000


class Shown(NamedTuple):
    """A record as a person reads it."""

    partition: int
    offset: int
    time: str
    key: str | None
    value: str | None
    headers: list[tuple[str, str | None]]
    size: int


@page("records.html", "topics")
async def records(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    link, topic, said = await call.link(), await find_topic(call), call.query
    path = f"/v3/clusters/{await call.cluster_id()}/topics/{joined(topic.name)}/records"
    context: dict[str, Any] = {
        "title": f"Records of {topic.name}", "topic": topic, "said": said, "path": path,
        "flaw": None, "rows": [], "next": None, "scanned": 0,
        "export": path + query_of({**_asked(said), "limit": None}),
    }  # fmt: skip
    try:
        context |= await _found(call)
    except HttpError as flaw:
        if flaw.status not in (400, 404, 416, 422):
            raise
        context["flaw"] = flaw
    where = f" -w {json.dumps(said['filter'])}" if said["filter"] else ""
    context["copies"] = copies(
        link.bootstrap,
        f"ottla records tail {topic.name} --from-beginning{where}",
        quoted(call.base_url + path + query_of(_asked(said))),
        consumer_python(topic.name),
        stream_python(topic.name),
    )
    return context


def _asked(said: dict[str, Any]) -> dict[str, Any]:
    """The query of REST for what this page shows."""
    partition = ",".join(said["partition"]) if said["partition"] else None
    return {**said, "partition": partition}


async def _found(call: Call) -> dict[str, Any]:
    said = call.query
    choice = chosen_records(said["key"], said["filter"])
    begins = any(said[name] is not None for name in ("offset", "timestamp", "cursor"))
    # A person wants to see what came last, unless it is looked for.
    newest = not begins and choice is None
    if newest:
        partitions = len(said["partition"] or (await find_topic(call)).partitions)
        each = min(said["limit"], max(1, _MOST_READ // max(1, partitions)))
        call.query = {**said, "offset": -each}
    consumer = (await call.link()).consumer(call.caller, **SETTINGS)
    try:
        begin, end = await begin_and_end(call, consumer, live=False)
    except BaseException:
        await consumer.close()
        raise
    reading = Reading(consumer, begin, end, choice, None if newest else said["limit"])
    rows: list[Shown] = []
    try:
        async with aclosing(reading.batches(time.monotonic() + _WITHIN_S)) as batches:
            async for batch in batches:
                rows += map(shown, batch)
    finally:
        await reading.close()
    cursor = cursor_text({at.partition: each for at, each in reading.next_offsets.items()})
    following = None
    if newest:
        rows.sort(key=lambda each: (each.time, each.offset), reverse=True)
        rows = rows[: said["limit"]]
    elif not reading.at_end:
        asked = {**_asked(said), "cursor": cursor, "offset": None, "timestamp": None}
        following = query_of(asked)
    return {"rows": rows, "next": following, "scanned": reading.scanned}


def shown(record: Any) -> Shown:
    found = record_json(record)
    headers = [
        (each["name"], each.get("value", each.get("value_base64"))) for each in found["headers"]
    ]
    return Shown(
        record.partition,
        record.offset,
        iso(record.timestamp),
        _text(found, "key"),
        _text(found, "value"),
        headers,
        len(record.value or b""),
    )


def _text(found: dict[str, Any], name: str) -> str | None:
    """JSON is laid out, bytes are shown as they are written in hex."""
    if f"{name}_base64" in found:
        import base64

        data = base64.b64decode(found[f"{name}_base64"])
        return "0x" + data[: _LONGEST // 2].hex(" ", 4)
    text = found[name]
    if text is None or len(text) > _LONGEST:
        return None if text is None else f"{text[:_LONGEST]} ..."
    if text[:1] in ("{", "["):
        try:
            return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            return str(text)
    return str(text)


_QUERY: Final = (
    Query("partition", ListOf(), "Only these partitions."),
    Query("offset", Long(), "From this offset on."),
    Query("timestamp", OptionalText(), "From this time on."),
    Query("until", OptionalText(), "Up to this time."),
    Query("cursor", OptionalText(), "Where the page before ended."),
    Query("key", OptionalText(), "Only this key."),
    Query("filter", OptionalText(), "Only records that match."),
    Query("limit", Int(1, 500), "How many.", 50),
)
ROUTES: Final = (
    Route("GET", "/ui/topics/{topic_name}/records", records, "Records", "", Dialect.OWN, _QUERY),
)
