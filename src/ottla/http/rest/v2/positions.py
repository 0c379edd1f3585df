"""What a consumer instance reads, and where: subscription, assignment, positions, committed offsets."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import msgspec

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.positions import OffsetAndMetadata
from ottla.config.kinds import OptionalText
from ottla.http.rest.v2.consumers import find_instance
from ottla.http.rest.v2.declare import route
from ottla.http.rest.v2.instances import Instance
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.http.server.routes import Query
from ottla.inspection.regex_safety import UnsafePattern, safe_pattern

Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class SubscriptionRequest(msgspec.Struct):
    """Topics by name, or by a pattern."""

    topics: list[str] | None = None
    topic_pattern: str | None = None


class SubscriptionResponse(msgspec.Struct):
    """What an instance subscribes to."""

    topics: list[str]


class V2Partition(msgspec.Struct, frozen=True):
    """A partition."""

    topic: str
    partition: Number


class PartitionsRequest(msgspec.Struct):
    """Partitions."""

    partitions: list[V2Partition]


class V2PartitionOffset(msgspec.Struct):
    """An offset in a partition."""

    topic: str
    partition: Number
    offset: Offset
    metadata: str | None = None


class OffsetsRequest(msgspec.Struct):
    """Offsets."""

    offsets: list[V2PartitionOffset]


async def subscribe(call: Call) -> None:
    """Share the partitions of topics with the group."""
    wanted: SubscriptionRequest = await call.body()
    instance = await find_instance(call)
    if (wanted.topics is None) is (wanted.topic_pattern is None):
        raise _illegal("Subscription to topics, partitions and pattern are mutually exclusive")
    async with instance.lock:
        if instance.consumer.assignment() and not instance.subscribed:
            raise _illegal("Subscription to topics, partitions and pattern are mutually exclusive")
        if wanted.topics is not None:
            topics: Any = wanted.topics
            instance.topics = sorted(wanted.topics)
        else:
            topics = _pattern(wanted.topic_pattern or "")
            instance.topics = []
        if wanted.topics == []:
            await _unsubscribe(instance)
            return
        await instance.consumer.subscribe(topics)
        instance.subscribed = True


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return safe_pattern(text)
    except UnsafePattern as flaw:
        raise HttpError(422, f"topic_pattern: {flaw}", code=422) from None


async def get_subscription(call: Call) -> SubscriptionResponse:
    """Return what an instance subscribes to."""
    instance = await find_instance(call)
    found = {at.topic for at in instance.consumer.assignment()} if instance.subscribed else set()
    return SubscriptionResponse(instance.topics or sorted(found))


async def unsubscribe(call: Call) -> None:
    """Leave the group."""
    instance = await find_instance(call)
    async with instance.lock:
        await _unsubscribe(instance)


async def _unsubscribe(instance: Instance) -> None:
    await instance.consumer.unsubscribe()
    instance.topics, instance.subscribed = [], False


async def assign(call: Call) -> None:
    """Read exactly these partitions."""
    wanted: PartitionsRequest = await call.body()
    instance = await find_instance(call)
    async with instance.lock:
        if instance.subscribed:
            raise _illegal("Subscription to topics, partitions and pattern are mutually exclusive")
        await instance.consumer.assign(_partitions(wanted))


async def get_assignment(call: Call) -> PartitionsRequest:
    """Return what an instance reads."""
    instance = await find_instance(call)
    return PartitionsRequest(
        [V2Partition(*each) for each in sorted(instance.consumer.assignment())]
    )


async def seek(call: Call) -> None:
    """Go on from offsets."""
    wanted: OffsetsRequest = await call.body()
    instance = await find_instance(call)
    async with instance.lock:
        places = {
            TopicPartition(each.topic, each.partition): each.offset for each in wanted.offsets
        }
        _need_assigned(instance, places)
        for at, offset in places.items():
            instance.consumer.seek(at, offset)


async def seek_to_beginning(call: Call) -> None:
    """Go on from the first records."""
    await _seek_to(call, "seek_to_beginning")


async def seek_to_end(call: Call) -> None:
    """Go on behind the last records."""
    await _seek_to(call, "seek_to_end")


async def _seek_to(call: Call, how: str) -> None:
    wanted: PartitionsRequest = await call.body()
    instance = await find_instance(call)
    async with instance.lock:
        places = _partitions(wanted)
        _need_assigned(instance, places)
        if places:
            getattr(instance.consumer, how)(*places)


async def commit(call: Call) -> Any:
    """Commit offsets of records that were read, or all that was read."""
    wanted: OffsetsRequest | None = await call.body()
    instance = await find_instance(call)
    offsets = None
    if wanted is not None:
        # What is named is the record that was read last; what is committed is the next one.
        offsets = {
            TopicPartition(each.topic, each.partition): OffsetAndMetadata(
                each.offset + 1, metadata=each.metadata or ""
            )
            for each in wanted.offsets
        }
    async with instance.lock:
        if offsets is not None and call.query["async"] == "true":
            instance.consumer.commit_async(offsets)
        else:
            await instance.consumer.commit(offsets)


async def get_committed(call: Call) -> OffsetsRequest:
    """Return what the group has committed."""
    wanted: PartitionsRequest | None = await call.body()
    instance = await find_instance(call)
    places = sorted(instance.consumer.assignment()) if wanted is None else _partitions(wanted)
    if not places:
        raise HttpError(404, "Partition not found.", code=40402)
    async with instance.lock:
        found = await instance.consumer.committed(places)
    return OffsetsRequest(
        [
            V2PartitionOffset(at.topic, at.partition, each.offset, each.metadata)
            for at, each in found.items()
            if each is not None
        ]
    )


def _partitions(wanted: PartitionsRequest) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in wanted.partitions]


def _need_assigned(instance: Instance, places: Any) -> None:
    for each in places:
        if each not in instance.consumer.assignment():
            raise _illegal(f"No current assignment for partition {each}")


def _illegal(why: str) -> OttlaError:
    return HttpError(409, f"Illegal state: {why}", code=40903)


_INSTANCE: Final = "/consumers/{group}/instances/{instance}"
_ASYNC: Final = Query("async", OptionalText(), "true does not wait for the commit.", "false")
ROUTES: Final = (
    route("POST", f"{_INSTANCE}/subscription", subscribe, "Subscribe to topics", body=SubscriptionRequest),
    route("GET", f"{_INSTANCE}/subscription", get_subscription, "Get the subscription",
          answer=SubscriptionResponse),
    route("DELETE", f"{_INSTANCE}/subscription", unsubscribe, "Unsubscribe"),
    route("POST", f"{_INSTANCE}/assignments", assign, "Assign partitions", body=PartitionsRequest),
    route("GET", f"{_INSTANCE}/assignments", get_assignment, "Get the assignment",
          answer=PartitionsRequest),
    route("POST", f"{_INSTANCE}/positions", seek, "Seek to offsets", body=OffsetsRequest),
    route("POST", f"{_INSTANCE}/positions/beginning", seek_to_beginning, "Seek to the beginning",
          body=PartitionsRequest),
    route("POST", f"{_INSTANCE}/positions/end", seek_to_end, "Seek to the end", body=PartitionsRequest),
    route("POST", f"{_INSTANCE}/offsets", commit, "Commit offsets", query=(_ASYNC,),
          body=OffsetsRequest, optional_body=True),
    route("GET", f"{_INSTANCE}/offsets", get_committed, "Get committed offsets",
          body=PartitionsRequest, answer=OffsetsRequest, optional_body=True),
)  # fmt: skip
