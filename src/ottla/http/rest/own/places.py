"""Where reading begins and ends in each partition, from what a request says."""

from __future__ import annotations

import time

from ottla.base.ids import TopicPartition
from ottla.client.async_consumer import AsyncConsumer
from ottla.http.rest.own.cursors import read_cursor
from ottla.http.rest.v3.partitions import find_topic
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.inspection.human_units import duration_ms, moment_ms

Places = dict[TopicPartition, int]


async def begin_and_end(
    call: Call, consumer: AsyncConsumer, *, live: bool
) -> tuple[Places, Places | None]:
    """The first offset of each partition, and the one behind the last; None goes on for ever."""
    partitions = await _partitions(call)
    first = await consumer.beginning_offsets(partitions)
    last = await consumer.end_offsets(partitions)
    begin = await _begin(call, consumer, first, last, live=live)
    if live:
        return begin, None
    until = call.query["until"]
    return begin, last if until is None else await _at_time(consumer, last, time_of(until, "until"))


async def _begin(
    call: Call, consumer: AsyncConsumer, first: Places, last: Places, *, live: bool
) -> Places:
    said = call.query
    resumed = call.request.headers.get("last-event-id") if live else None
    if len([each for each in ("offset", "timestamp", "cursor") if said[each] is not None]) > 1:
        raise HttpError(400, "give one of cursor, offset and timestamp", code=400)
    if said["cursor"] is not None or resumed:
        known = read_cursor(said["cursor"] or resumed or "")
        wanted = {at: known.get(at.partition, first[at]) for at in first}
        # A cursor in front of what was deleted goes on with what is there.
        return {at: min(max(each, first[at]), last[at]) for at, each in wanted.items()}
    if said["timestamp"] is not None:
        return await _at_time(consumer, last, time_of(said["timestamp"], "timestamp"))
    if said["offset"] is not None:
        return _at_offset(said["offset"], first, last)
    return dict(last if live else first)


def _at_offset(offset: int, first: Places, last: Places) -> Places:
    wanted = {at: offset if offset >= 0 else last[at] + offset for at in first}
    if offset >= 0 and all(each > last[at] for at, each in wanted.items()):
        shown = ", ".join(f"{at.partition}: {first[at]} to {last[at]}" for at in sorted(first)[:20])
        raise HttpError(416, f"offset {offset} is out of range (partition {shown})", code=416)
    return {at: min(max(each, first[at]), last[at]) for at, each in wanted.items()}


async def _at_time(consumer: AsyncConsumer, last: Places, moment: int) -> Places:
    found = await consumer.offsets_for_times(dict.fromkeys(last, moment))
    return {at: last[at] if each is None else each.offset for at, each in found.items()}


async def _partitions(call: Call) -> list[TopicPartition]:
    topic = await find_topic(call)
    there = [each.index for each in topic.partitions]
    wanted = call.query["partition"]
    if wanted is None:
        led = [each.index for each in topic.partitions if each.leader >= 0]
        return [TopicPartition(topic.name, each) for each in led]
    numbers = []
    for text in wanted:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) in there):
            raise HttpError(404, f"topic {topic.name} has no partition {text[:40]}", code=404)
        numbers.append(int(text))
    return [TopicPartition(topic.name, each) for each in numbers]


def time_of(text: str, name: str) -> int:
    """Milliseconds of a time, or of a duration that has passed since."""
    try:
        if text.isascii() and text.isdigit():
            return min(int(text[:16]), 2**53)
        try:
            return round(time.time() * 1000) - duration_ms(text)
        except ValueError:
            return moment_ms(text)
    except (ValueError, OverflowError) as flaw:
        raise HttpError(400, f"{name}: {flaw}", code=400) from None
