"""What a consumer does when brokers refuse or point elsewhere: told by brokers that follow a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.errors import UnreadableRecord
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from tests.unit.client.scripted import ScriptedBroker, metadata, run

TARGET = TopicPartition("t", 0)
QUICK = {"retry_backoff_ms": 1, "reconnect_backoff_ms": 1, "fetch_max_wait_ms": 10}


def batch(offset: int, *values: bytes) -> bytes:
    return bytes(build_batch([Record(value=value) for value in values], base_offset=offset))


class Partition:
    """One partition: what its broker says to fetches, by their offsets."""

    def __init__(self, *records: bytes) -> None:
        self.records = records
        self.epoch = -1
        self.asked: list[tuple[int, int]] = []
        self.faults: list[PartitionData | Callable[[], PartitionData]] = []

    def answer(self, request: FetchRequest, version: int) -> FetchResponse:
        wanted = request.topics[0].partitions[0]
        self.asked.append((wanted.fetch_offset, wanted.current_leader_epoch))
        data = self.data(wanted.fetch_offset)
        if self.faults:
            fault = self.faults.pop(0)
            data = fault() if callable(fault) else fault
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])

    def data(self, offset: int) -> PartitionData:
        values = [Record(value=value) for value in self.records[offset:]]
        built = build_batch(values, base_offset=offset, leader_epoch=self.epoch) if values else b""
        found = bytes(built)
        return PartitionData(high_watermark=len(self.records), records=found)


def ends(first: int, last: int) -> Callable[[ListOffsetsRequest, int], ListOffsetsResponse]:
    def answer(request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
        earliest = request.topics[0].partitions[0].timestamp == -2
        found = ListOffsetsPartitionResponse(offset=first if earliest else last)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[found])])

    return answer


@asynccontextmanager
async def reading(
    partition: Partition, *, offset: int | None = 0, **settings: Any
) -> AsyncIterator[tuple[AsyncConsumer, ScriptedBroker]]:
    async with ScriptedBroker() as broker:
        broker.answers[ApiKey.METADATA] = metadata({1: broker}, leaders={"t": [1]})
        broker.answers[ApiKey.FETCH] = partition.answer
        broker.answers[ApiKey.LIST_OFFSETS] = ends(2, len(partition.records))
        async with AsyncConsumer(
            {}, bootstrap_servers=broker.bootstrap, **QUICK, **settings
        ) as consumer:
            await consumer.assign([TARGET])
            if offset is not None:
                consumer.seek(TARGET, offset)
            yield consumer, broker


async def values(consumer: AsyncConsumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        found += [record.value for record in await consumer.poll(1)]
    return found


def test_a_refusal_that_passes_is_asked_about_again() -> None:
    async def story() -> None:
        partition = Partition(b"a", b"b")
        partition.faults = [
            PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
            PartitionData(error_code=ErrorCode.UNKNOWN_LEADER_EPOCH),
        ]
        async with reading(partition) as (consumer, broker):
            assert await values(consumer, 2) == [b"a", b"b"]
            assert broker.count(ApiKey.METADATA) >= 2

    run(story())


def test_a_refusal_that_does_not_pass_reaches_whoever_polls() -> None:
    async def story() -> None:
        partition = Partition(b"a")
        partition.faults = [PartitionData(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
        async with reading(partition) as (consumer, _):
            with pytest.raises(ApiError, match="t-0: Access to the topic is denied"):
                await values(consumer, 1)

    run(story())


@pytest.mark.parametrize(("reset", "expected"), [("earliest", b"c"), ("latest", b"new")])
def test_an_offset_out_of_range_is_reset(reset: str, expected: bytes) -> None:
    async def story() -> None:
        partition = Partition(b"a", b"b", b"c", b"d")
        partition.faults = [PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)]
        async with reading(partition, auto_offset_reset=reset) as (consumer, _):
            await consumer.poll(0.1, max_records=1) if reset == "latest" else None
            if reset == "latest":
                assert await consumer.position(TARGET) == 4
                partition.records += (b"new",)
            assert (await values(consumer, 1))[0] == expected

    run(story())


def test_a_log_that_was_cut_is_read_on_from_where_it_was_cut() -> None:
    async def story() -> None:
        partition = Partition(b"a", b"b", b"c", b"d")
        diverging = EpochEndOffset(epoch=3, end_offset=1)
        partition.faults = [PartitionData(diverging_epoch=diverging)]
        async with reading(partition, offset=3) as (consumer, _):
            assert (await values(consumer, 1))[0] == b"b"

    run(story())


def test_a_replica_that_the_leader_recommends_is_asked() -> None:
    async def story() -> None:
        leader, follower = Partition(b"a"), Partition(b"a", b"b")
        leader.faults = [PartitionData(preferred_read_replica=2)]
        async with ScriptedBroker({ApiKey.FETCH: follower.answer}) as near:
            async with reading(leader, client_rack="r") as (consumer, broker):
                broker.answers[ApiKey.METADATA] = metadata({1: broker, 2: near}, leaders={"t": [1]})
                assert await values(consumer, 2) == [b"a", b"b"]
            assert near.received[0][2].rack_id == "r"
        assert leader.asked == [(0, -1)]

    run(story())


def test_broken_records_are_told_with_their_place() -> None:
    async def story() -> None:
        partition = Partition(b"a")
        broken = bytearray(batch(0, b"value"))
        broken[16] = 1  # a message format of long ago
        partition.faults = [PartitionData(records=bytes(broken))]
        async with reading(partition) as (consumer, _):
            with pytest.raises(
                UnreadableRecord,
                match="t-0 sent for offset 0 cannot be read: no batch at position 0",
            ):
                await values(consumer, 1)

    run(story())


def test_the_next_part_is_fetched_while_the_first_is_read() -> None:
    async def story() -> None:
        partition = Partition(*[b"%d" % n for n in range(10)])
        partition.faults = [PartitionData(records=batch(0, b"0", b"1", b"2"))]
        async with reading(partition) as (consumer, _):
            assert [r.value for r in await consumer.poll(1, max_records=1)] == [b"0"]
            assert await values(consumer, 9) == [b"%d" % n for n in range(1, 10)]
        assert [offset for offset, _ in partition.asked[:2]] == [0, 3]

    run(story())


def test_what_was_fetched_before_a_seek_is_not_returned() -> None:
    async def story() -> None:
        partition = Partition(*[b"%d" % n for n in range(10)])
        async with reading(partition) as (consumer, _):
            await consumer.poll(1, max_records=1)
            consumer.seek(TARGET, 7)
            assert await values(consumer, 3) == [b"7", b"8", b"9"]

    run(story())
