"""Pure: for which brokers partitions wait that nobody leads (KIP-966)."""

from __future__ import annotations

from collections.abc import Collection

from ottla.client.view import Partition


def waits_for(partition: Partition, alive: Collection[int]) -> list[int]:
    """The brokers that must be back before anybody can lead a partition: they may hold what others do not."""
    eligible, last_known = partition.eligible_leaders or (), partition.last_known_eligible or ()
    return sorted({*partition.isr, *eligible, *last_known} - set(alive))
