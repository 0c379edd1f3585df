"""Pure: the replica in a consumer's own rack that it had better read from (KIP-392)."""

from __future__ import annotations

from ottla.cluster.image import NO_LEADER, Image
from ottla.replication.partition import Partition


def closest_replica(image: Image, partition: Partition, rack: str, offset: int) -> int:
    """The furthest follower of that rack which is in sync and holds the offset; -1 if the leader had better answer."""
    leadership = partition.leadership
    leader = image.brokers.get(partition.placed.leader)
    if leadership is None or (leader is not None and leader.rack == rack):
        return NO_LEADER
    ends = {
        each: leadership.end_offset_of(each)
        for each in partition.placed.isr
        if (broker := image.brokers.get(each)) is not None and broker.rack == rack
    }
    able = [each for each, end in ends.items() if end >= offset]
    return max(able, key=ends.__getitem__, default=NO_LEADER)
