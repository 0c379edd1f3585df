"""/connectors/{connector}/offsets: where a connector goes on (KIP-875)."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.admin import Admin
from ottla.client.administration.group_offsets import CommittedOffset
from ottla.connect.rest.call import Call
from ottla.connect.rest.connectors import kind_of
from ottla.connect.rest.errors import RestError
from ottla.connect.worker import formats
from ottla.connect.worker.view import Target

_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"


async def show(call: Call) -> Response:
    """GET"""
    known = call.known
    if kind_of(known.config) == "source":
        await call.worker.topics.caught_up()
        shown = [{"partition": p, "offset": o} for p, o in known.offsets.values()]
        return JSONResponse({"offsets": shown})
    async with Admin(call.worker.client) as admin:
        found = await admin.list_group_offsets(_group(call))
    return JSONResponse(
        {
            "offsets": [
                {
                    "partition": {_PARTITION: each.partition, _TOPIC: each.topic},
                    "offset": {_OFFSET: committed.offset},
                }
                for each, committed in sorted(found.items())
                if isinstance(committed, CommittedOffset)
            ]
        }
    )


async def change(call: Call) -> Response:
    """PATCH"""
    kind = _stopped(call)
    given = await call.body()
    rows = given.get("offsets") if isinstance(given, dict) else None
    if not isinstance(rows, list) or not rows:
        raise RestError(
            400, "Partitions / offsets need to be provided for an alter offsets request"
        )
    if not all(isinstance(row, dict) and isinstance(row.get("partition"), dict) for row in rows):
        raise RestError(400, 'each of the offsets is {"partition": {...}, "offset": {...} or null}')
    if kind == "source":
        entries = [formats.offset_entry(call.name, r["partition"], r.get("offset")) for r in rows]
        await call.worker.topics.write(call.worker.offset_topic, entries)
    else:
        await _change_sink(call, rows)
    return JSONResponse(
        {"message": "The offsets for this connector have been altered successfully"}
    )


async def reset(call: Call) -> Response:
    """DELETE"""
    kind = _stopped(call)
    if kind == "source":
        known = call.known.offsets.values()
        entries = [formats.offset_entry(call.name, partition, None) for partition, _ in known]
        await call.worker.topics.write(call.worker.offset_topic, entries)
    else:
        async with Admin(call.worker.client) as admin:
            await admin.delete_groups([_group(call)])
    return JSONResponse({"message": "The offsets for this connector have been reset successfully"})


async def _change_sink(call: Call, rows: list[dict[str, Any]]) -> None:
    wanted: dict[TopicPartition, int | None] = {}
    for row in rows:
        try:
            place = row["partition"]
            partition = TopicPartition(str(place[_TOPIC]), int(place[_PARTITION]))
            offset = row.get("offset")
            wanted[partition] = None if offset is None else int(offset[_OFFSET])
        except (KeyError, TypeError, ValueError):
            raise RestError(
                400,
                f'the offsets of a sink are {{"partition": {{"{_TOPIC}": ..., "{_PARTITION}": ...}}, "offset":'
                f' {{"{_OFFSET}": ...}}}}',
            ) from None
    async with Admin(call.worker.client) as admin:
        changed = {p: CommittedOffset(o) for p, o in wanted.items() if o is not None}
        failures = {}
        if changed:
            failures = await admin.alter_group_offsets(_group(call), changed)
        if gone := [p for p, o in wanted.items() if o is None]:
            failures |= await admin.delete_group_offsets(_group(call), gone)
    for partition, outcome in failures.items():
        if isinstance(outcome, ApiError):
            raise RestError(500, f"the offset of {partition} was not changed: {outcome}")


def _stopped(call: Call) -> str:
    if call.known.target is not Target.STOPPED:
        raise RestError(
            400,
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the"
            f" specified connector by issuing a 'PUT' request to the '/connectors/{call.name}/stop' endpoint",
        )
    return kind_of(call.known.config)


def _group(call: Call) -> str:
    return f"connect-{call.name}"
