"""Where replicas lie and who leads: reassignments with a throttle, elections, deletion of records."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.offsets import END_OF_LOG
from ottla.client.administration.placement import PREFERRED, UNCLEAN
from ottla.http.rest.own.declare import CLUSTER, TOPIC, route
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError, as_http
from ottla.inspection.outcomes import raise_first
from ottla.inspection.throttles import (
    throttle_brokers,
    throttle_moves,
    unthrottle_brokers,
    unthrottle_topics,
)

Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Rate = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_TAG: Final = "Partition"


class Place(msgspec.Struct):
    """A partition."""

    topic_name: str
    partition_id: Number


class Move(msgspec.Struct):
    """Which brokers shall hold a partition, the preferred leader first."""

    topic_name: str
    partition_id: Number
    replicas: Annotated[list[Number], msgspec.Meta(min_length=1, max_length=100)]


class ReassignRequest(msgspec.Struct):
    """Moves to be begun, with at most so many bytes a second."""

    partitions: Annotated[list[Move], msgspec.Meta(min_length=1)]
    throttle_bytes_per_second: Rate | None = None


class CancelRequest(msgspec.Struct):
    """Moves to be ended; all of them without any."""

    partitions: list[Place] | None = None


class ThrottleRequest(msgspec.Struct):
    """A limit for moves that are under way; null lifts it."""

    bytes_per_second: Rate | None = None


class ElectRequest(msgspec.Struct):
    """Partitions whose leaders are elected; all of them without any."""

    type: Literal["PREFERRED", "UNCLEAN"] = "PREFERRED"
    partitions: list[Place] | None = None


class PlaceResult(msgspec.Struct):
    """What became of a partition; an error code of null is success."""

    topic_name: str
    partition_id: int
    error_code: int | None = None
    message: str | None = None


class Results(msgspec.Struct):
    """What became of partitions."""

    data: list[PlaceResult]


class DeleteBefore(msgspec.Struct):
    """Deletes what lies before an offset; without one everything that is there."""

    partition_id: Number
    before_offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None


class DeleteRecordsRequest(msgspec.Struct):
    """What to delete."""

    partitions: Annotated[list[DeleteBefore], msgspec.Meta(min_length=1)]


class DeletedRecords(msgspec.Struct):
    """The first offset that a partition has now."""

    topic_name: str
    partition_id: int
    log_start_offset: int | None
    error_code: int | None = None
    message: str | None = None


class DeletedRecordsList(msgspec.Struct):
    """What became of partitions."""

    data: list[DeletedRecords]


async def reassign(call: Call) -> Results:
    """Begin to move replicas."""
    wanted: ReassignRequest = await call.body()
    admin = await call.admin()
    moves = {
        TopicPartition(each.topic_name, each.partition_id): each.replicas
        for each in wanted.partitions
    }
    if wanted.throttle_bytes_per_second is not None:
        topics = await admin.describe_topics({at.topic for at in moves})
        raise_first(topics)
        before = {
            TopicPartition(name, each.index): each.replicas
            for name, topic in topics.items()
            if not isinstance(topic, ApiError)
            for each in topic.partitions
        }
        involved = {b for at in moves for b in (*moves[at], *before.get(at, ()))}
        await throttle_moves(
            admin, moves, before, sorted(involved), wanted.throttle_bytes_per_second
        )
    return _results(await admin.alter_partition_reassignments(moves))


async def cancel(call: Call) -> Results:
    """End moves that are under way: replicas are again where they were."""
    wanted: CancelRequest = await call.body() or CancelRequest()
    admin = await call.admin()
    places = _places(wanted.partitions)
    active = await admin.list_partition_reassignments(places)
    if not active:
        return Results([])
    return _results(await admin.alter_partition_reassignments(dict.fromkeys(active)))


async def throttle(call: Call) -> None:
    """Limit how fast replicas move, or lift the limit."""
    wanted: ThrottleRequest = await call.body()
    admin = await call.admin()
    brokers = [each.id for each in (await admin.describe_cluster()).brokers]
    active = await admin.list_partition_reassignments()
    if wanted.bytes_per_second is None:
        await unthrottle_brokers(admin, brokers)
        await unthrottle_topics(admin, sorted({at.topic for at in active}))
    elif active:
        new = {at: each.replicas for at, each in active.items()}
        old = {
            at: [b for b in each.replicas if b not in each.adding] for at, each in active.items()
        }
        await throttle_moves(admin, new, old, brokers, wanted.bytes_per_second)
    else:
        await throttle_brokers(admin, brokers, wanted.bytes_per_second)


async def elect(call: Call) -> Results:
    """Have leaders elected; with all partitions, those that needed no other leader are left out."""
    wanted: ElectRequest = await call.body()
    kind = UNCLEAN if wanted.type == "UNCLEAN" else PREFERRED
    return _results(await (await call.admin()).elect_leaders(kind, _places(wanted.partitions)))


async def delete_records(call: Call) -> DeletedRecordsList:
    """Delete the records before offsets, for good."""
    wanted: DeleteRecordsRequest = await call.body()
    name = call.path["topic_name"]
    before = {
        TopicPartition(name, each.partition_id): END_OF_LOG
        if each.before_offset is None
        else each.before_offset
        for each in wanted.partitions
    }
    found = await (await call.admin()).delete_records(before)
    if len(found) == 1:
        raise_first(found)
    data = []
    for at, outcome in sorted(found.items(), key=lambda item: item[0]):
        code, message = _error(outcome)
        offset = None if isinstance(outcome, ApiError) else outcome
        data.append(DeletedRecords(at.topic, at.partition, offset, code, message))
    return DeletedRecordsList(data)


def _places(said: list[Place] | None) -> list[TopicPartition] | None:
    if said is None:
        return None
    if not said:
        raise HttpError(422, "partitions is empty; leave it out for all", code=422)
    return [TopicPartition(each.topic_name, each.partition_id) for each in said]


def _results(found: Any) -> Results:
    if len(found) == 1:
        raise_first(found)
    return Results(
        [
            PlaceResult(at.topic, at.partition, *_error(outcome))
            for at, outcome in sorted(found.items(), key=lambda i: i[0])
        ]
    )


def _error(outcome: Any) -> tuple[int | None, str | None]:
    if not isinstance(outcome, ApiError):
        return None, None
    refusal = as_http(outcome)
    return refusal.code, refusal.message


ROUTES: Final = (
    route("POST", f"{CLUSTER}/reassignments", reassign, "Move replicas", _TAG, body=ReassignRequest,
          answer=Results),
    route("POST", f"{CLUSTER}/reassignments:cancel", cancel, "Cancel moves of replicas", _TAG,
          body=CancelRequest, answer=Results, optional_body=True),
    route("POST", f"{CLUSTER}/reassignments:throttle", throttle, "Limit the rate of moves", _TAG,
          body=ThrottleRequest),
    route("POST", f"{CLUSTER}/elections", elect, "Elect leaders", _TAG, body=ElectRequest, answer=Results),
    route("POST", f"{TOPIC}/records:delete", delete_records, "Delete records", "Records",
          body=DeleteRecordsRequest, answer=DeletedRecordsList),
)  # fmt: skip
