"""Drives a cluster as fast as one client can, and record by record, and measures both."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.progress import Progress
from ottla.cli.plots import PERCENTILES, percentile
from ottla.cli.reading import read
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.async_producer import AsyncProducer

if TYPE_CHECKING:
    from collections.abc import Sequence

_SLICES: Final = 40
_PAYLOADS: Final = 64
_ARRIVAL_S: Final = 10.0


class Throughput(NamedTuple):
    """How much went through, how long it took, and how it went over the time."""

    records: int
    size_bytes: int
    took_s: float
    slices: tuple[float, ...]

    def row(self, what: str) -> dict[str, Any]:
        """As it is shown."""
        per_s = self.records / self.took_s if self.took_s else 0.0
        return {
            "measured": what,
            "records": self.records,
            "seconds": round(self.took_s, 3),
            "records_per_s": round(per_s),
            "mb_per_s": round(per_s * self.size_bytes / 1e6, 2),
        }


class Latencies(NamedTuple):
    """Milliseconds from sending until the broker has acknowledged, and until a consumer has it."""

    acknowledged: tuple[float, ...]
    received: tuple[float, ...]


def latency_row(what: str, values_ms: Sequence[float]) -> dict[str, Any]:
    """Percentiles as they are shown."""
    ordered = sorted(values_ms)
    row: dict[str, Any] = {"measured": what, "records": len(ordered)}
    for percent in PERCENTILES:
        row[f"p{percent:g}_ms"] = round(percentile(ordered, percent), 3)
    row["max_ms"] = round(ordered[-1], 3)
    return row


def payloads(size_bytes: int) -> list[bytes]:
    """Values that do not compress, and differ."""
    return [os.urandom(size_bytes) for _ in range(_PAYLOADS)]


async def produce(
    settings: Mapping[str, Any], topic: str, records: int, size_bytes: int
) -> Throughput:
    """Write as fast as possible."""
    values = payloads(size_bytes)
    failed: list[Exception] = []

    def delivered(metadata: object, error: Exception | None) -> None:
        if error is not None:
            failed.append(error)

    clock = _Slices(records)
    async with AsyncProducer(settings) as producer:
        await producer.partitions_for(topic)
        clock.begin()
        progress = Progress("records written", records)
        for number in range(records):
            await producer.send(topic, values[number % _PAYLOADS], on_delivery=delivered)
            if not number % 256:
                progress.advance(256)
                clock.look(number)
        await producer.flush()
        progress.close()
        took_s = clock.look(records)
    if failed:
        raise OttlaError(f"{len(failed)} of {records} records were refused: {failed[0]}")
    return Throughput(records, size_bytes, took_s, clock.rates())


async def consume(
    settings: Mapping[str, Any], partitions: list[TopicPartition], size_bytes: int
) -> Throughput:
    """Read everything as fast as possible."""
    async with AsyncConsumer(settings) as consumer:
        begin = await consumer.beginning_offsets(partitions)
        end = await consumer.end_offsets(partitions)
        total, count = sum(end.values()) - sum(begin.values()), 0
        clock = _Slices(total)
        clock.begin()
        progress = Progress("records read", total)
        async for batch in read(consumer, begin, end):
            count += len(batch)
            progress.advance(len(batch))
            clock.look(count)
        progress.close()
        took_s = clock.look(count)
    return Throughput(count, size_bytes, took_s, clock.rates())


async def latencies(
    producing: Mapping[str, Any],
    consuming: Mapping[str, Any],
    at: TopicPartition,
    samples: int,
    size_bytes: int,
) -> Latencies:
    """One record after the other: each is sent when the one before has arrived."""
    values = payloads(size_bytes)
    acknowledged, received = [], []
    async with (
        AsyncProducer({**producing, "linger.ms": 0}) as producer,
        AsyncConsumer(consuming) as consumer,
    ):
        await consumer.assign([at])
        consumer.seek_to_end(at)
        await consumer.position(at)
        await _one(producer, consumer, at, values[0])  # connections are open after the first
        progress = Progress("records there and back", samples)
        for number in range(samples):
            ack_s, arrival_s = await _one(producer, consumer, at, values[number % _PAYLOADS])
            acknowledged.append(ack_s * 1000)
            received.append(arrival_s * 1000)
            progress.advance()
        progress.close()
    return Latencies(tuple(acknowledged), tuple(received))


async def _one(
    producer: AsyncProducer, consumer: AsyncConsumer, at: TopicPartition, value: bytes
) -> tuple[float, float]:
    arrival = asyncio.ensure_future(_arrival(consumer))
    await asyncio.sleep(0)
    began = time.perf_counter()
    delivery = await producer.send(at.topic, value, partition=at.partition)
    await delivery
    acknowledged = time.perf_counter()
    return acknowledged - began, await arrival - began


async def _arrival(consumer: AsyncConsumer) -> float:
    deadline = time.perf_counter() + _ARRIVAL_S
    while not await consumer.poll(1.0):
        if time.perf_counter() > deadline:
            raise OttlaError(f"a record that was acknowledged has not arrived in {_ARRIVAL_S:g} s")
    return time.perf_counter()


class _Slices:
    """Cuts a run into parts of about the same number of records, and times each."""

    def __init__(self, total: int) -> None:
        self._every = max(1, total // _SLICES)
        self._began = 0.0
        self._marks: list[tuple[int, float]] = []

    def begin(self) -> None:
        self._began = time.perf_counter()
        self._marks = [(0, self._began)]

    def look(self, count: int) -> float:
        """So much is done now; the seconds since the beginning."""
        now = time.perf_counter()
        if count - self._marks[-1][0] >= self._every:
            self._marks.append((count, now))
        return now - self._began

    def rates(self) -> tuple[float, ...]:
        """Records per second of each part."""
        pairs = zip(self._marks, self._marks[1:], strict=False)
        return tuple((b - a) / max(1e-9, later - sooner) for (a, sooner), (b, later) in pairs)
