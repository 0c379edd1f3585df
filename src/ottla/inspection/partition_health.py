"""Pure: which partitions lack leaders or replicas, and which broker that is missing explains it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from ottla.client.view import Partition, Topic
from ottla.inspection.human_units import counted
from ottla.inspection.leaderless import waits_for

_NAMED: Final = 3


class PartitionHealth(NamedTuple):
    """What is wrong with the partitions of a cluster; partitions by name, brokers by id."""

    gone: Mapping[int, list[str]]
    """Brokers that hold replicas and are not there, each with the partitions that miss it."""

    behind: Mapping[int, list[str]]
    """Brokers that are there and not in sync."""

    leaderless: Mapping[tuple[int, ...], list[str]]
    """Partitions that nobody leads, by the brokers that they wait for."""

    refusing: list[str]
    """Partitions with fewer replicas in sync than min.insync.replicas."""

    @property
    def is_well(self) -> bool:
        """Whether every replica is in sync."""
        return not (self.gone or self.behind or self.leaderless or self.refusing)

    def gone_brokers(self) -> list[str]:
        """A sentence for each broker that is missing."""
        return [
            f"broker {broker} is gone; {counted(len(names), 'partition')} "
            f"{'has' if len(names) == 1 else 'have'} fewer replicas"
            for broker, names in sorted(self.gone.items())
        ]


def partition_health(
    topics: Iterable[Topic], alive: Collection[int], min_in_sync: Mapping[str, int]
) -> PartitionHealth:
    """Sort out what is wrong; `alive` are the brokers that the cluster knows now."""
    refusing = list[str]()
    gone, behind = dict[int, list[str]](), dict[int, list[str]]()
    leaderless = dict[tuple[int, ...], list[str]]()
    for topic in topics:
        for each in topic.partitions:
            name = f"{topic.name}-{each.index}"
            for broker in each.replicas:
                if broker not in alive:
                    gone.setdefault(broker, []).append(name)
                elif broker not in each.isr:
                    behind.setdefault(broker, []).append(name)
            if each.leader < 0:
                leaderless.setdefault(tuple(waits_for(each, alive)), []).append(name)
            elif len(each.isr) < min_in_sync.get(topic.name, 1):
                refusing.append(name)
    return PartitionHealth(gone, behind, leaderless, refusing)


def is_explained(partition: Partition, alive: Collection[int]) -> bool:
    """True if the partition has a leader, and all that it lacks are brokers that are gone."""
    return partition.leader >= 0 and not (set(partition.replicas) & set(alive)) - set(partition.isr)


def named(names: list[str]) -> str:
    """The first few of many."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
