"""One fetcher for each broker that leads something we follow; partitions move between them with their leader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.base.tasks import Tasks
from ottla.cluster.peers import Peers
from ottla.config.live import LiveSettings
from ottla.replication.partition import Partition
from ottla.replication.throttle import Throttle
from ottla.storage.logs import Logs

if TYPE_CHECKING:
    from ottla.replication.fetcher import Fetcher


class Fetchers:
    """All fetchers of a broker."""

    def __init__(
        self,
        peers: Peers,
        logs: Logs,
        settings: LiveSettings,
        tasks: Tasks,
        now_ms: Callable[[], int],
    ) -> None:
        self._peers = peers
        self._logs = logs
        self._settings = settings
        self._tasks = tasks
        self._now_ms = now_ms
        self._throttle = Throttle()
        self._fetchers: dict[int, Fetcher] = {}
        self._following: dict[Partition, Fetcher] = {}

    def place(self, partition: Partition) -> None:
        """Follow whoever leads the partition now, unless that is us or nobody."""
        leader = partition.placed.leader
        wanted = None if partition.is_leader or leader < 0 else self._fetcher(leader)
        current = self._following.get(partition)
        if current is not None and current is not wanted:
            self.remove(partition)
        if wanted is not None:
            self._following[partition] = wanted
            wanted.follow(partition)

    def remove(self, partition: Partition) -> None:
        """Follow nobody any more."""
        current = self._following.pop(partition, None)
        if current is not None:
            current.forget(partition)

    def _fetcher(self, leader_id: int) -> Fetcher:
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            # A broker that is alone follows nobody, and does not read how.
            from ottla.replication.fetcher import Fetcher

            fetcher = Fetcher(
                leader_id, self._peers, self._logs, self._settings, self._throttle, self._now_ms
            )
            self._fetchers[leader_id] = fetcher
            # Not before the caller's turn is over: at start-up nobody is registered yet.
            asyncio.get_running_loop().call_soon(self._tasks.spawn, fetcher.run())
        return fetcher
