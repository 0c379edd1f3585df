"""Holds back what a leader sends to replicas that catch up (KIP-73)."""

from __future__ import annotations

from collections.abc import Callable

from ottla.config.live import LiveSettings
from ottla.replication.partition import Partition
from ottla.replication.throttle import Throttle, is_listed


class LeaderThrottle:
    """One for all that a broker leads."""

    __slots__ = ("_me", "_now_ms", "_settings", "_throttle")

    def __init__(self, me: int, settings: LiveSettings, now_ms: Callable[[], int]) -> None:
        self._me = me
        self._settings = settings
        self._now_ms = now_ms
        self._throttle = Throttle()

    def holds_back(self, partition: Partition, follower_id: int) -> bool:
        """Whether a follower has to wait before it is sent more; one that is in sync never has."""
        return self._is_throttled(partition, follower_id) and bool(
            self._throttle.wait_ms(self._rate, self._now_ms())
        )

    def sent(self, partition: Partition, follower_id: int, size_bytes: int) -> None:
        """So much goes to a follower."""
        if self._is_throttled(partition, follower_id):
            self._throttle.passed(size_bytes, self._rate, self._now_ms())

    def _is_throttled(self, partition: Partition, follower_id: int) -> bool:
        replicas = partition.log.config.leader_replication_throttled_replicas
        return (
            is_listed(replicas, partition.tp.partition, self._me)
            and follower_id not in partition.placed.isr
        )

    @property
    def _rate(self) -> int:
        return self._settings.now.replication.leader_replication_throttled_rate
