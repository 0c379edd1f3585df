"""What Spark jobs do: the sinks that count once, and the progress that streams publish."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import msgspec

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.sinks import SinkDescription
from ottla.client.errors import UnsupportedByBroker
from ottla.http.rest.own.declare import CLUSTER, route
from ottla.http.rest.own.reading import SETTINGS, Reading
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError

_TAG: Final = "Pipelines"
PIPELINES_TOPIC: Final = "__ottla_pipelines"
_WITHIN_S: Final = 10.0


class SlotData(msgspec.Struct):
    """A part of a batch."""

    transactional_id: str
    producer_id: int
    batch: int
    partition: int
    attempt: int
    state: str


class SinkData(msgspec.Struct):
    """A sink; a committed batch of -1 is none."""

    sink_id: str
    run_id: str
    generation: int
    committed_batch: int
    updated_ms: int
    timeout_ms: int
    slots: list[SlotData]


class SinkList(msgspec.Struct):
    """All sinks."""

    data: list[SinkData]


class PipelineData(msgspec.Struct):
    """What a query last published of itself."""

    name: str
    updated_ms: int
    progress: dict[str, Any]


class PipelineList(msgspec.Struct):
    """All queries that publish what they do."""

    data: list[PipelineData]


async def list_sinks(call: Call) -> SinkList:
    """Return all sinks; an empty list from a cluster that is not ottla."""
    try:
        found = await (await call.admin()).list_sinks()
    except UnsupportedByBroker:
        return SinkList([])
    sinks = [_sink(each) for listed in found.values() for each in listed]
    return SinkList(sorted(sinks, key=lambda each: each.sink_id))


async def get_sink(call: Call) -> SinkData:
    """Return one sink."""
    name = call.path["sink_id"]
    found = (await (await call.admin()).describe_sinks([name]))[name]
    if isinstance(found, ApiError):
        raise found
    return _sink(found)


async def abort_sink(call: Call) -> None:
    """Abort what a sink has open; what it has committed stays."""
    await (await call.admin()).abort_sink(call.path["sink_id"])


async def reset_sink(call: Call) -> None:
    """Make a sink forget what it has committed."""
    await get_sink(call)
    await (await call.admin()).reset_sink(call.path["sink_id"])


async def list_pipelines(call: Call) -> PipelineList:
    """Return what streaming queries published of themselves."""
    found = await pipelines(call)
    return PipelineList([found[name] for name in sorted(found)])


async def get_pipeline(call: Call) -> PipelineData:
    """Return one query."""
    found = (await pipelines(call)).get(call.path["pipeline"])
    if found is None:
        raise HttpError(
            404, f"no query {call.path['pipeline'][:200]} publishes what it does", code=404
        )
    return found


async def pipelines(call: Call) -> dict[str, PipelineData]:
    """The newest word of each query, from the topic they publish to."""
    admin = await call.admin()
    topic = (await admin.list_topics()).get(PIPELINES_TOPIC)
    if topic is None:
        return {}
    places = [TopicPartition(topic.name, each.index) for each in topic.partitions]
    consumer = (await call.link()).consumer(call.caller, **SETTINGS)
    found: dict[str, PipelineData] = {}
    try:
        begin = await consumer.beginning_offsets(places)
        reading = Reading(consumer, begin, await consumer.end_offsets(places), None, None)
        async for records in reading.batches(time.monotonic() + _WITHIN_S):
            for record in records:
                name = (record.key or b"").decode("utf-8", "replace")
                progress = _progress(record.value)
                if progress is None:
                    found.pop(name, None)
                else:
                    found[name] = PipelineData(name, record.timestamp, progress)
    finally:
        await consumer.close()
    return found


def _progress(value: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(value or b"null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _sink(found: SinkDescription) -> SinkData:
    return SinkData(
        found.sink_id,
        found.run_id,
        found.generation,
        found.committed_batch,
        found.updated_ms,
        found.timeout_ms,
        [
            SlotData(
                each.transactional_id,
                each.producer_id,
                each.batch,
                each.partition,
                each.attempt,
                each.state,
            )
            for each in found.slots
        ],
    )


_SINK: Final = f"{CLUSTER}/sinks/{{sink_id}}"
ROUTES: Final = (
    route("GET", f"{CLUSTER}/sinks", list_sinks, "List sinks", _TAG, answer=SinkList),
    route("GET", _SINK, get_sink, "Get a sink", _TAG, answer=SinkData),
    route("POST", f"{_SINK}/abort", abort_sink, "Abort what a sink has open", _TAG),
    route("POST", f"{_SINK}/reset", reset_sink, "Make a sink forget", _TAG),
    route("GET", f"{CLUSTER}/pipelines", list_pipelines, "List streaming queries", _TAG,
          answer=PipelineList),
    route("GET", f"{CLUSTER}/pipelines/{{pipeline}}", get_pipeline, "Get a streaming query", _TAG,
          answer=PipelineData),
)  # fmt: skip
