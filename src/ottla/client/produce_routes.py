"""Where batches go: lines to the brokers that lead their partitions, opened on demand, followed when they move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.accumulator import Accumulator
from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.delivery import Outcome
from ottla.client.errors import is_retriable


class Line:
    """The way to one broker: a connection, and how much is under way on it."""

    __slots__ = ("connection", "in_flight", "opening")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.in_flight = 0
        self.opening = False

    def is_open(self) -> bool:
        """Whether something can be sent."""
        return self.connection is not None and not self.connection.closed


class Routes:
    """Lines to leaders; `wake` is called when one that was wanted is open, or leaders are known."""

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator[Outcome],
        wake: Callable[[], None],
        on_failure: Callable[[Exception], Any],
    ) -> None:
        self.on_view: Callable[[], None] = lambda: None
        self._cluster = cluster
        self._accumulator = accumulator
        self._wake = wake
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._lines: dict[int, Line] = {}
        self._tasks = Tasks()
        self._refreshing = False
        self._refreshed_ms = self._loop.time() * 1000
        self._closed = False

    async def close(self) -> None:
        """Open nothing more."""
        self._closed = True
        await self._tasks.cancel()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run something beside the sender, unless that is closed."""
        if self._closed:
            work.close()
        else:
            self._tasks.spawn(work)

    def line_to(self, target: TopicPartition) -> Line | None:
        """An open line to the leader of a partition; None until there is one."""
        view = self._cluster.view
        found = view.partition(*target)
        if found is None or found.leader not in view.brokers:
            self.refresh()
            return None
        line = self._lines.get(found.leader)
        if line is None:
            line = self._lines[found.leader] = Line()
        if line.is_open():
            return line
        if not line.opening:
            line.opening = True
            self.spawn(self._open(found.leader, line))
        return None

    async def _open(self, node_id: int, line: Line) -> None:
        try:
            line.connection = await self._cluster.connection(node_id)
        except OttlaError:
            # The broker may have left, and its partitions be led by others.
            self.refresh()
        finally:
            line.opening = False
        self._wake()

    def refresh_if_old(self) -> None:
        """Ask who leads after metadata.max.age.ms, even if nothing failed."""
        age_ms = self._loop.time() * 1000 - self._refreshed_ms
        if age_ms > self._cluster.settings.metadata_max_age_ms:
            self.refresh()

    def refresh(self) -> None:
        """Ask who leads."""
        if not self._refreshing:
            self._refreshing = True
            self.spawn(self._refresh())

    async def _refresh(self) -> None:
        backoff = self._cluster.backoff()
        self._refreshed_ms = self._loop.time() * 1000
        try:
            while not await self._look():
                await asyncio.sleep(backoff.next_ms() / 1000)
        finally:
            self._refreshing = False
            self._wake()

    async def _look(self) -> bool:
        """Whether all that waits has a leader now, or waits no more."""
        topics = {target.topic for target in self._accumulator.queues}
        try:
            view = await self._cluster.refresh(topics)
        except OttlaError as error:
            if is_retriable(error):
                return False
            self._on_failure(error)
            return True
        self.on_view()
        busy = [queue.target for queue in self._accumulator.busy()]
        known = (view.partition(*target) for target in busy)
        return all(each is not None and each.leader in view.brokers for each in known)
