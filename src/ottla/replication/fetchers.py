"""One fetcher for each broker that leads something we follow; partitions move between them with their leader.

The fetch of an idle fetcher is held by the leader for up to half a second, and cannot be changed meanwhile. A
partition that is placed then (a new leader after a failover, a new topic) gets a fetcher and a connection of its own
until that fetch returns: otherwise its first write with acks=all would wait as long (measured 2026-11-18 after kill
-9 of a leader: 440 ms).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ottla.base.tasks import Tasks
from ottla.cluster.peers import Peers
from ottla.config.live import LiveSettings
from ottla.replication.partition import Partition
from ottla.replication.throttle import Throttle
from ottla.storage.logs import Logs

if TYPE_CHECKING:
    from ottla.replication.fetcher import Fetcher


_MOST_EXTRA: Final = 4


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
        self._extra: dict[int, list[Fetcher]] = {}
        self._following: dict[Partition, Fetcher] = {}

    def place(self, partition: Partition) -> None:
        """Follow whoever leads the partition now, unless that is us or nobody."""
        leader = partition.placed.leader
        current = self._following.get(partition)
        wanted = None if partition.is_leader or leader < 0 else self._choose(leader, current)
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

    def _choose(self, leader_id: int, current: Fetcher | None) -> Fetcher:
        """The fetcher that has the partition already, or one whose next fetch can name it soon."""
        first = self._fetchers.get(leader_id)
        if first is None:
            first = self._fetchers[leader_id] = self._start(
                leader_id, lambda: self._gather(leader_id)
            )
        extra = self._extra.setdefault(leader_id, [])
        candidates = [first, *extra]
        if current in candidates:
            return current
        for fetcher in candidates:
            if not fetcher.is_waiting:
                return fetcher
        if len(extra) < _MOST_EXTRA:
            extra.append(self._start(leader_id))
        return extra[-1]

    def _gather(self, leader_id: int) -> None:
        """Give the first fetcher of a leader, which can name them now, what extra ones have fetched meanwhile."""
        first = self._fetchers[leader_id]
        for fetcher in self._extra.pop(leader_id, ()):
            self._following.update(dict.fromkeys(fetcher.retire(first), first))

    def _start(self, leader_id: int, before_fetch: Callable[[], None] = lambda: None) -> Fetcher:
        # A broker that is alone follows nobody, and does not read how.
        from ottla.replication.fetcher import LOOP, Fetcher

        fetcher = Fetcher(
            leader_id,
            self._peers,
            self._logs,
            self._settings,
            self._throttle,
            self._now_ms,
            before_fetch,
        )
        # Not before the caller's turn is over: at start-up nobody is registered yet.
        asyncio.get_running_loop().call_soon(self._tasks.keep, LOOP, fetcher.run)
        return fetcher
