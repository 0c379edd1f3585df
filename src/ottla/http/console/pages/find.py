"""/ui/find: where is my message? A key, text or offset, and which groups have passed it."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.config.kinds import Long, OptionalText
from ottla.http.console.commands import consumer_python, copies, quoted
from ottla.http.console.pages.records import Shown, shown
from ottla.http.console.render import page
from ottla.http.rest.own.choosing import chosen_records
from ottla.http.rest.own.reading import SETTINGS, Reading
from ottla.http.rest.v3.partitions import find_topic
from ottla.http.server.call import Call, joined
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Query, Route
from ottla.inspection.group_history import group_history, moves_of

_WITHIN_S: Final = 5.0
_MOST: Final = 20
_MOST_GROUPS: Final = 300


class Passing(NamedTuple):
    """A group and a record: whether it passed it, and when, if that is remembered."""

    group: str
    committed: int
    passed: bool
    when_ms: int | None


class Sighting(NamedTuple):
    """A record that was found, and the groups that read its partition."""

    record: Shown
    passings: list[Passing]


@page("find.html", "find")
async def find(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    said, link = call.query, await call.link()
    topics = await (await call.admin()).list_topics(include_internal=False)
    context: dict[str, Any] = {
        "title": "Where is my message?",
        "said": said,
        "topics": list(topics),
        "flaw": None,
        "found": None,
        "scanned": 0,
        "whole": True,
    }
    if said["topic"]:
        try:
            context |= await _looked(call)
        except (HttpError, ApiError) as flaw:
            context["flaw"] = flaw
        address = f"{call.base_url}/v3/clusters/{await call.cluster_id()}/topics/{joined(said['topic'])}/records"
        context["copies"] = copies(
            link.bootstrap,
            f"ottla records tail {said['topic']} --from-beginning --where {_filter(said)!r}",
            quoted(address),
            consumer_python(said["topic"]),
        )
    return context


def _filter(said: dict[str, Any]) -> str:
    tests = []
    if said["offset"] is not None:
        tests.append(f"offset = {said['offset']}")
    if said["text"]:
        escaped = said["text"].replace("\\", "\\\\").replace('"', '\\"')
        tests.append(f'value contains "{escaped}"')
    return " and ".join(tests) or "true = true"


async def _looked(call: Call) -> dict[str, Any]:
    said = call.query
    call.path = {**call.path, "topic_name": said["topic"]}
    topic = await find_topic(call)
    places = [
        TopicPartition(topic.name, each.index) for each in topic.partitions if each.leader >= 0
    ]
    text = _filter(said)
    choice = chosen_records(said["key"], None if text == "true = true" else text)
    consumer = (await call.link()).consumer(call.caller, **SETTINGS)
    begin, end = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    if said["offset"] is not None:
        begin = {at: min(max(first, said["offset"]), end[at]) for at, first in begin.items()}
        end = {at: min(last, said["offset"] + 1) for at, last in end.items()}
    reading = Reading(consumer, begin, end, choice, _MOST)
    rows: list[Shown] = []
    try:
        async with aclosing(reading.batches(time.monotonic() + _WITHIN_S)) as batches:
            async for batch in batches:
                rows += map(shown, batch)
    finally:
        await reading.close()
    groups = await _groups(call, topic.name)
    found = [Sighting(each, _passings(each, topic.name, groups)) for each in rows]
    return {"found": found, "scanned": reading.scanned, "whole": reading.at_end}


async def _groups(call: Call, topic: str) -> dict[str, tuple[dict[Any, int], Any]]:
    """The groups that have committed for a topic, with their offsets and their history."""
    admin, found = await call.admin(), {}
    for group in (await admin.list_groups(protocol_types=("consumer", "")))[:_MOST_GROUPS]:
        try:
            offsets = await admin.list_group_offsets(group.group_id)
        except ApiError:
            continue
        own = {
            at: each.offset
            for at, each in offsets.items()
            if at.topic == topic and not isinstance(each, ApiError) and each.offset >= 0
        }
        if own:
            try:
                history = await group_history(admin, group.group_id)
            except OttlaError:
                history = None
            found[group.group_id] = (own, history)
    return found


def _passings(
    record: Shown, topic: str, groups: dict[str, tuple[dict[Any, int], Any]]
) -> list[Passing]:
    at = TopicPartition(topic, record.partition)
    found = []
    for name, (offsets, history) in sorted(groups.items()):
        if at not in offsets:
            continue
        passed = offsets[at] > record.offset
        found.append(
            Passing(
                name, offsets[at], passed, _when(history, at, record.offset) if passed else None
            )
        )
    return found


def _when(history: Any, at: TopicPartition, offset: int) -> int | None:
    """When a commit went past an offset, as far as the coordinator remembers."""
    if history is None:
        return None
    for each in history.commits:
        before, after = moves_of(each).get(at, (-1, -1))
        if before <= offset < after:
            return int(each.last_ms)
    return None


_QUERY: Final = (
    Query("topic", OptionalText(), "Where to look."),
    Query("key", OptionalText(), "Its key."),
    Query("text", OptionalText(), "A text in its value."),
    Query("offset", Long(0), "Its offset."),
)
ROUTES: Final = (Route("GET", "/ui/find", find, "Find", "", Dialect.OWN, _QUERY),)
