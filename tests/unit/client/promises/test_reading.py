"""What cannot be read loses nothing else, and nobody is moved behind their back."""

from __future__ import annotations

import asyncio
import json
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
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from tests.unit.client.scripted import ScriptedBroker, metadata, run
from tests.unit.client.test_fetcher import QUICK, TARGET, Partition, reading, values

TWO = (TopicPartition("t", 0), TopicPartition("t", 1))


def log(*batches: list[bytes]) -> bytes:
    """Batches of values, one after the other."""
    found, offset = b"", 0
    for each in batches:
        found += bytes(build_batch([Record(value=v) for v in each], base_offset=offset))
        offset += len(each)
    return found


class Logs:
    """Partitions that are fetched whole: each answer begins with the batch of the offset."""

    def __init__(self, *partitions: list[list[bytes]]) -> None:
        self.partitions = partitions
        self.damaged: tuple[int, int] | None = None

    def answer(self, request: FetchRequest, version: int) -> FetchResponse:
        data = [self._data(p.partition, p.fetch_offset) for p in request.topics[0].partitions]
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=data)])

    def _data(self, number: int, offset: int) -> PartitionData:
        batches = self.partitions[number]
        records, base = b"", 0
        for batch in batches:
            end = base + len(batch)
            if end > offset:
                values = [Record(value=v) for v in batch]
                built = bytearray(build_batch(values, base_offset=base))
                if self.damaged == (number, base):
                    built[-2] ^= 1
                records += bytes(built)
            base = end
        return PartitionData(partition_index=number, high_watermark=base, records=records)


def good(begin: int, end: int) -> list[bytes]:
    return [b"%d" % n for n in range(begin, end)]


async def read_on(consumer: AsyncConsumer, count: int) -> tuple[list[Any], list[UnreadableRecord]]:
    """Poll until so many records are there, passing over each that cannot be read after three polls."""
    found: list[Any] = []
    failures: list[UnreadableRecord] = []
    while len(found) < count or not failures:
        try:
            found += [(r.partition, r.value) for r in await consumer.poll(1, max_records=7)]
        except UnreadableRecord as failure:
            failures.append(failure)
            for _ in range(2):
                with pytest.raises(UnreadableRecord, match=f"offset {failure.offset} "):
                    await consumer.poll(1)
            consumer.seek(failure.partition, failure.next_offset)
    return found, failures


async def from_the_beginning(broker: ScriptedBroker, logs: Logs, **settings: Any) -> AsyncConsumer:
    broker.answers[ApiKey.METADATA] = metadata({1: broker}, leaders={"t": [1, 1]})
    broker.answers[ApiKey.FETCH] = logs.answer
    consumer = AsyncConsumer({}, bootstrap_servers=broker.bootstrap, **QUICK, **settings)
    await consumer.assign(TWO)
    for each in TWO:
        consumer.seek(each, 0)
    return consumer


@pytest.mark.parametrize("place", [3, 13, 19])
def test_a_record_that_cannot_be_deserialized_loses_no_other(place: int) -> None:
    """`place` lies in the first, in the middle and in the last batch of a fetch."""
    values = [b"{" if n == place else b"%d" % n for n in range(20)]
    logs = Logs([values[:8], values[8:16], values[16:]], [good(100, 110)])

    async def story() -> None:
        async with (
            ScriptedBroker() as broker,
            await from_the_beginning(broker, logs, value_deserializer="json") as consumer,
        ):
            found, failures = await read_on(consumer, 29)
        assert sorted(found) == sorted(
            [(0, n) for n in range(20) if n != place] + [(1, n) for n in range(100, 110)]
        )
        [failure] = failures
        assert (failure.partition, failure.offset, failure.value) == (TWO[0], place, b"{")
        assert isinstance(failure.__cause__, json.JSONDecodeError)

    run(story())


def test_a_damaged_batch_is_told_until_somebody_seeks_past_it() -> None:
    logs = Logs([good(0, 8), good(8, 16), good(16, 20)], [good(100, 110)])
    logs.damaged = (0, 8)

    async def story() -> None:
        async with ScriptedBroker() as broker, await from_the_beginning(broker, logs) as consumer:
            found, failures = await read_on(consumer, 22)
        expected = good(0, 8) + good(16, 20)
        assert [value for number, value in found if number == 0] == expected
        assert [value for number, value in found if number == 1] == good(100, 110)
        assert [(each.offset, each.next_offset) for each in failures] == [(8, 16)]

    run(story())


def test_what_cannot_be_read_is_not_committed() -> None:
    logs = Logs([[b"1", b"{", b"3"]], [good(0, 3)])

    async def story() -> None:
        async with (
            ScriptedBroker() as broker,
            await from_the_beginning(broker, logs, value_deserializer="json") as consumer,
        ):
            found: list[Any] = []
            while len(found) < 4:
                found += await consumer.poll(1)
            with pytest.raises(UnreadableRecord):
                await consumer.poll(1)
            assert consumer._core.to_commit(None)[TWO[0]].offset == 1
            assert consumer._core.to_commit(None)[TWO[1]].offset == 3

    run(story())


def test_a_partition_that_is_paused_keeps_its_failure_for_later() -> None:
    logs = Logs([[b"{"]], [good(0, 3)])

    async def story() -> None:
        async with (
            ScriptedBroker() as broker,
            await from_the_beginning(broker, logs, value_deserializer="json") as consumer,
        ):
            with pytest.raises(UnreadableRecord):
                await values(consumer, 4)
            consumer.pause(TWO[0])
            assert await consumer.poll(0.1) is not None
            consumer.resume(TWO[0])
            with pytest.raises(UnreadableRecord):
                await consumer.poll(1)

    run(story())


def test_without_a_reset_an_offset_out_of_range_is_told_at_each_poll() -> None:
    async def story() -> None:
        partition = Partition(b"a", b"b")
        partition.faults = [PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)]
        async with reading(partition, offset=9, auto_offset_reset="none") as (consumer, _):
            for _ in range(3):
                with pytest.raises(ApiError, match=r"t-0 has no offset 9 any more"):
                    await consumer.poll(1)
            assert await consumer.position(TARGET) == 9
            consumer.seek(TARGET, 1)
            assert await values(consumer, 1) == [b"b"]

    run(story())


def test_a_seek_is_not_undone_by_an_answer_that_comes_after_it() -> None:
    async def story() -> None:
        partition = Partition(b"a", b"b", b"c", b"d")
        async with reading(partition, offset=3) as (consumer, _):

            def seek_meanwhile() -> PartitionData:
                consumer.seek(TARGET, 2)
                return PartitionData(diverging_epoch=EpochEndOffset(epoch=3, end_offset=1))

            partition.faults = [seek_meanwhile]
            assert (await values(consumer, 1))[0] == b"c"

    run(story())


def test_a_log_that_was_cut_ahead_of_the_reader_costs_no_record() -> None:
    """What was fetched ahead and cut off is fetched again; what was not read yet is not passed over."""

    async def story() -> None:
        partition = Partition(*good(0, 6))
        first = bytes(build_batch([Record(value=v) for v in good(0, 4)]))
        diverging = PartitionData(diverging_epoch=EpochEndOffset(epoch=0, end_offset=3))
        partition.faults = [PartitionData(records=first), diverging]
        async with reading(partition) as (consumer, _):
            found = [r.value for r in await consumer.poll(1, max_records=1)]
            while consumer._core.positions[TARGET].diverged is None:
                await asyncio.sleep(0)
            found += await values(consumer, 5)
            assert found == good(0, 6)

    run(story())


def test_without_a_reset_a_log_that_was_cut_is_told() -> None:
    async def story() -> None:
        partition = Partition(*good(0, 4))
        partition.faults = [
            PartitionData(diverging_epoch=EpochEndOffset(epoch=3, end_offset=1)),
        ]
        async with reading(partition, offset=3, auto_offset_reset="none") as (consumer, _):
            for _ in range(2):
                with pytest.raises(ApiError, match=r"from offset 1 on were read and are lost"):
                    await consumer.poll(1)
            consumer.seek(TARGET, 1)
            assert await values(consumer, 3) == good(1, 4)

    run(story())
