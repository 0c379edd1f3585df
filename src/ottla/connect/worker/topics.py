"""The three compacted topics of a worker: made where they are missing, followed, written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.client.admin import Admin
from ottla.client.administration.topics import NewTopic
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.async_producer import AsyncProducer
from ottla.client.consumer_record import ConsumerRecord
from ottla.connect.worker.formats import Entry
from ottla.protocol.errors import ErrorCode

log = logger(__name__)
_RETRY_S = 1.0
_POLL_S = 0.5


class Topics:
    """Follows the topics; every record is replayed, in the order of its partition."""

    def __init__(
        self,
        client: Mapping[str, str],
        names: Iterable[str],
        replay: Callable[[ConsumerRecord], None],
    ) -> None:
        self._client = dict(client)
        self._names = tuple(names)
        self._replay = replay
        self._consumer: AsyncConsumer | None = None
        self._producer: AsyncProducer | None = None
        self._task: asyncio.Task[None] | None = None
        self._moved = asyncio.Condition()

    async def open(self, topics: Iterable[NewTopic]) -> None:
        """Make the topics, and read all that is in them."""
        async with Admin(self._client) as admin:
            for name, outcome in (await admin.try_to_create_topics(topics)).items():
                if isinstance(outcome, ApiError) and outcome.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise OttlaError(f"the topic {name} cannot be made: {outcome}")
        # Offsets are written in the transactions of records: only those that were committed count.
        self._consumer = AsyncConsumer(
            self._client, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        self._producer = AsyncProducer(self._client, acks="all", enable_idempotence=True)
        partitions = [
            TopicPartition(name, number)
            for name in self._names
            for number in await self._consumer.partitions_for(name)
        ]
        await self._consumer.assign(partitions)
        self._consumer.seek_to_beginning(*partitions)
        self._task = asyncio.create_task(self._follow(), name="connect topics")
        await self.caught_up()

    async def write(self, topic: str, entries: Iterable[Entry]) -> None:
        """Append entries to a topic; returns when they were replayed, too."""
        await self.append(topic, entries)
        await self.caught_up()

    async def append(self, topic: str, entries: Iterable[Entry]) -> None:
        """Append entries to a topic, in one partition if the topic has one."""
        assert self._producer is not None
        sent = [await self._producer.send(topic, entry.value, entry.key) for entry in entries]
        for delivery in sent:
            await delivery

    async def caught_up(self) -> None:
        """Wait until all that is committed now has been replayed."""
        consumer = self._consumer
        assert consumer is not None
        ends = await consumer.end_offsets(consumer.assignment())
        async with self._moved:
            while any([await consumer.position(each) < end for each, end in ends.items()]):
                await asyncio.wait_for(self._moved.wait(), 30)

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._consumer is not None:
            await self._consumer.close()
        if self._producer is not None:
            await self._producer.close()

    async def _follow(self) -> None:
        assert self._consumer is not None
        while True:
            try:
                for record in await self._consumer.poll(_POLL_S):
                    self._replay(record)
            except OttlaError as error:
                log.warning("the worker's topics cannot be read now", reason=str(error))
                await asyncio.sleep(_RETRY_S)
            async with self._moved:
                self._moved.notify_all()
