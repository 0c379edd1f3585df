"""Consumer instances: consumers that live between requests, each used by one request at a time."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final
from uuid import uuid4

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.tasks import Tasks
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.consumer_record import ConsumerRecord
from ottla.http.server.callers import Caller
from ottla.http.server.errors import HttpError
from ottla.http.settings import HttpSettings

log = logger(__name__)
_LOOK_S: Final = 1.0
_ROUND: Final = 500


class Instance:
    """One consumer of one caller."""

    def __init__(
        self, group: str, name: str, form: str, owner: str, consumer: AsyncConsumer, wait_ms: int
    ) -> None:
        self.group = group
        self.name = name
        self.format = form
        self.owner = owner
        self.consumer = consumer
        self.wait_ms = wait_ms
        self.lock = asyncio.Lock()
        self.used_at = time.monotonic()
        self.topics: list[str] = []
        self.subscribed = False
        self.min_bytes = 1

    async def read(self, within_ms: int, most_bytes: int, min_bytes: int) -> list[ConsumerRecord]:
        """Records up to a size, at least one where there is one; what is not returned is read next time."""
        deadline = time.monotonic() + within_ms / 1000
        self.consumer.resume(*self.consumer.paused())
        found: list[ConsumerRecord] = []
        size = 0
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            records = await self.consumer.poll(left_s, _ROUND)
            for at, record in enumerate(records):
                size += _size(record)
                if found and size > most_bytes:
                    self.put_back(records[at:])
                    return found
                found.append(record)
            if (found and size >= min_bytes) or time.monotonic() >= deadline:
                return found

    def put_back(self, records: list[ConsumerRecord]) -> None:
        """Read these again next time."""
        first: dict[TopicPartition, int] = {}
        for record in records:
            first.setdefault(TopicPartition(record.topic, record.partition), record.offset)
        for at, offset in first.items():
            if at in self.consumer.assignment():
                self.consumer.seek(at, offset)

    async def keep_alive(self) -> None:
        """Take part in the group while nobody reads: a member that does not holds all others up."""
        self.consumer.pause(*self.consumer.assignment())
        self.put_back(await self.consumer.poll(0.0, _ROUND))


class Instances:
    """All instances of the process."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._by_name: dict[tuple[str, str, str], Instance] = {}
        self._tasks = Tasks()

    def __len__(self) -> int:
        return len(self._by_name)

    def start(self) -> None:
        """Begin to look after them."""
        self._tasks.spawn(self._look_after())

    def add(
        self,
        place: tuple[str, str, str],
        form: str,
        caller: Caller,
        consumer: AsyncConsumer,
        wait_ms: int | None,
    ) -> Instance:
        """Keep a consumer; `place` is its cluster, group and name."""
        wait = self._settings.consumer_request_timeout_ms if wait_ms is None else wait_ms
        made = Instance(place[1], place[2], form, caller.key, consumer, wait)
        self._by_name[place] = made
        return made

    def name_for(self, cluster: str, group: str, wanted: str | None) -> str:
        """A name that no other instance of the group has."""
        if len(self) >= self._settings.max_consumers:
            raise HttpError(
                429,
                "there are too many consumer instances; delete some (ottla.http.max.consumers)",
                code=42901,
                headers={"retry-after": "10"},
            )
        if wanted is not None and (cluster, group, wanted) in self._by_name:
            raise HttpError(
                409,
                "Consumer with specified consumer ID already exists in the specified consumer group.",
                code=40902,
            )
        return wanted or f"rest-consumer-{uuid4()}"

    def find(self, cluster: str, group: str, name: str, caller: Caller) -> Instance:
        """An instance of this caller."""
        found = self._by_name.get((cluster, group, name))
        if found is None or found.owner != caller.key:
            raise HttpError(404, "Consumer instance not found.", code=40403)
        found.used_at = time.monotonic()
        return found

    async def remove(self, cluster: str, instance: Instance) -> None:
        """Close an instance."""
        self._by_name.pop((cluster, instance.group, instance.name), None)
        with suppress(OttlaError):
            await instance.consumer.close()

    async def close(self) -> None:
        """Close all of them: their groups need not wait for time-outs."""
        await self._tasks.cancel()
        left, self._by_name = list(self._by_name.values()), {}
        closing = (each.consumer.close(2.0) for each in left)
        await asyncio.gather(*closing, return_exceptions=True)

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            oldest = time.monotonic() - self._settings.consumer_instance_timeout_ms / 1000
            for (cluster, _, name), each in list(self._by_name.items()):
                if each.lock.locked():
                    continue
                if each.used_at < oldest:
                    log.info("consumer instance expired", group=each.group, instance=name)
                    self._tasks.spawn(self.remove(cluster, each))
                elif each.subscribed:
                    self._tasks.spawn(self._keep_alive(each))

    async def _keep_alive(self, instance: Instance) -> None:
        if instance.lock.locked():
            return
        async with instance.lock:
            try:
                await instance.keep_alive()
            except OttlaError as error:
                # Whoever reads next is told.
                log.debug("a consumer instance cannot poll", group=instance.group, error=str(error))


def _size(record: ConsumerRecord) -> int:
    return len(record.key or b"") + len(record.value or b"")
