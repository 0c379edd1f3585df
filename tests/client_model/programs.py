"""What programs do with the clients in the model: write numbered records, and copy them exactly once."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

import ottla
from ottla import AsyncConsumer, AsyncProducer, TopicPartition
from ottla.client.delivery import Delivery
from tests.simulation.network import HERE

T = TypeVar("T")
SERVERS = "sim-1:9092,sim-2:9092,sim-3:9092"
SOURCE, SINK, GROUP = "source", "sink", "copiers"
PARTITIONS = 2
COMMON = {
    "bootstrap_servers": SERVERS,
    "request_timeout_ms": 400,
    "default_api_timeout_ms": 2000,
    "retry_backoff_ms": 20,
    "retry_backoff_max_ms": 100,
    "reconnect_backoff_ms": 10,
    "reconnect_backoff_max_ms": 20,
    "socket_connection_setup_timeout_ms": 200,
    "metadata_max_age_ms": 1000,
}
WRITE = {**COMMON, "max_block_ms": 3000, "linger_ms": 1, "batch_size": 64}
READ = {
    **COMMON,
    "group_id": GROUP,
    "auto_offset_reset": "earliest",
    "isolation_level": "read_committed",
    "enable_auto_commit": False,
    "max_poll_interval_ms": 1000,
    "fetch_max_wait_ms": 50,
    "max_poll_records": 4,
}
CLASSIC = {"session_timeout_ms": 800, "heartbeat_interval_ms": 100}


class Feeder:
    """An idempotent producer: each record is numbered, and its fate is noted."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Delivery]] = []
        self.count = 0
        self._producer: AsyncProducer | None = None

    async def run(self) -> None:
        HERE.set("feeder")
        producer = self._producer = AsyncProducer({}, **WRITE, delivery_timeout_ms=1500)
        while True:
            number = self.count
            self.count += 1
            with suppress(ottla.OttlaError):
                delivery = await producer.send(
                    SOURCE, b"%d" % number, partition=number % PARTITIONS
                )
                self.sent.append((number, delivery))
            await asyncio.sleep(0.04)

    async def close(self) -> None:
        if self._producer is not None:
            await self._producer.close(0.05)

    def fates(self) -> tuple[set[int], set[int]]:
        """The numbers that were acknowledged, and those of which nobody knows."""
        written = {n for n, each in self.sent if each.done() and each.outcome()[1] is None}
        return written, {n for n, _ in self.sent} - written


class Copier:
    """A member of the group that copies in transactions; after an error it begins anew, like a new process."""

    def __init__(self, number: int, protocol: str) -> None:
        self.number = number
        self.host = f"copier-{number}"
        self.stalls: dict[str, float] = {}
        self.step: asyncio.Task[Any] | None = None
        self.consumer: AsyncConsumer | None = None
        self.is_letting_go = False
        # Longer than any stall: the session ends first, and the member is removed without knowing it.
        share: dict[str, Any] = {"group_protocol": "consumer", "max_poll_interval_ms": 6000}
        if protocol != "consumer":
            share = {"partition_assignment_strategy": protocol, **CLASSIC}
        self._read = {**READ, **share}
        self.restarts = 0

    async def run(self) -> None:
        HERE.set(self.host)
        while True:
            consumer = self.consumer = AsyncConsumer({}, **self._read)
            producer = AsyncProducer(
                {}, **WRITE, transactional_id=self.host, transaction_timeout_ms=5000
            )
            try:
                await self._copy(consumer, producer)
            except ottla.OttlaError:
                self.restarts += 1
            finally:
                with suppress(ottla.OttlaError):
                    await producer.close(0.3)
                await consumer.close(0.3)
            await asyncio.sleep(0.05)

    async def _copy(self, consumer: AsyncConsumer, producer: AsyncProducer) -> None:
        await self._do(producer.init_transactions())
        await self._do(consumer.subscribe([SOURCE], on_revoked=self._revoked))
        while True:
            records = await self._do(consumer.poll(0.2)) or []
            await self._stall("stall")
            if records:
                try:
                    done = await self._do(self._transaction(consumer, producer, records))
                except ottla.ApiError:
                    await self._go_back(consumer)
                else:
                    if not done:
                        raise ottla.OttlaError("given up in the middle of a transaction")

    async def _revoked(self, partitions: list[TopicPartition]) -> None:
        """A listener that takes its time, so that a poll may be cancelled in the middle of it."""
        self.is_letting_go = True
        try:
            await asyncio.sleep(0.05)
        finally:
            self.is_letting_go = False

    async def _transaction(
        self, consumer: AsyncConsumer, producer: AsyncProducer, records: list[ottla.ConsumerRecord]
    ) -> bool:
        async with producer.transaction():
            for record in records:
                await producer.send(SINK, record.value, partition=0)
            await self._stall("stall in transaction")
            offsets = {TopicPartition(r.topic, r.partition): r.offset + 1 for r in records}
            await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        return True

    async def _go_back(self, consumer: AsyncConsumer) -> None:
        """Nothing of the transaction counts: read again from what is committed."""
        committed = await consumer.committed(consumer.assignment())
        for partition, at in committed.items():
            if at is None:
                consumer.seek_to_beginning(partition)
            else:
                consumer.seek(partition, at.offset)

    async def _stall(self, where: str) -> None:
        await asyncio.sleep(self.stalls.pop(where, 0.0))

    async def _do(self, work: Awaitable[T]) -> T | None:
        """Wait for it; None if the program was made to give up (`cancel` of the plan)."""
        self.step = asyncio.ensure_future(work)
        try:
            return await self.step
        except asyncio.CancelledError:
            if self.step.cancelled() and not asyncio.current_task().cancelling():  # type: ignore[union-attr]
                return None
            raise
