"""Pure: the replica in a consumer's own rack that it had better read from (KIP-392)."""

from __future__ import annotations

from ottla.cluster.image import NO_LEADER, Image, PartitionImage
from ottla.replication.leadership import Leadership


def closest_replica(
    image: Image, placed: PartitionImage, leadership: Leadership, rack: str, offset: int
) -> int:
    """The furthest follower of that rack which is in sync and holds the offset; -1 if the leader had better answer."""
    leader = image.brokers.get(placed.leader)
    if leader is not None and leader.rack == rack:
        return NO_LEADER
    ends = {
        each: leadership.end_offset_of(each)
        for each in placed.isr
        if (broker := image.brokers.get(each)) is not None and broker.rack == rack
    }
    able = [each for each, end in ends.items() if end >= offset]
    return max(able, key=ends.__getitem__, default=NO_LEADER)
