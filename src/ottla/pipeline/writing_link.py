"""One way to a cluster for each process and its settings: Spark's workers live on, and so do their connections."""

from __future__ import annotations

import os
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from ottla.client.cluster import Cluster
from ottla.client.producer_settings import ProducerSettings
from ottla.client.retry import keep_trying
from ottla.client.sync import LoopThread
from ottla.protocol.api_keys import ApiKey

T = TypeVar("T")

FIRST_MEETING_MS: Final = 8_000
"""A broker that restarts is waited for, even by a process that never met it; a wrong address is found out soon."""

_links: Final[dict[tuple[int, ProducerSettings], Link]] = {}
_lock: Final = threading.Lock()


class Link:
    """A cluster, and the thread in which everything about it happens; all methods block."""

    def __init__(self, settings: ProducerSettings) -> None:
        self.settings = settings
        self.thread = LoopThread("ottla-sink")
        self.cluster = Cluster(settings)
        self._sinks: bool | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine."""
        return self.thread.run(work)

    def has_sinks(self) -> bool:
        """Whether the brokers know sinks: ottla does, Apache Kafka does not; asked for once."""
        if self._sinks is None:
            meeting = keep_trying(
                self._meet, within_ms=FIRST_MEETING_MS, backoff=self.cluster.backoff()
            )
            self._sinks = self.run(meeting)
        return self._sinks

    async def _meet(self) -> bool:
        connection = await self.cluster.connection()
        await self.cluster.refresh()
        return connection.serves(ApiKey.OPEN_SINK)


def link_to(settings: ProducerSettings) -> Link:
    """The link of this process with these settings, made at the first call."""
    # By process: one that was forked has the links of its parent in memory, but not their threads.
    key = (os.getpid(), settings)
    with _lock:
        found = _links.get(key)
        if found is None:
            found = _links[key] = Link(settings)
        return found
