"""Pure: the range assignor: each topic is cut into runs of partitions, one for each member, in a fixed order.

Members that want the same topics get the same numbers of each topic that has as many partitions, so that what is
written with the same key to two topics is read by the same member.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from ottla.coordination.groups.assignors.spec import Assignment, MemberSpec


def assign(members: Mapping[str, MemberSpec], topics: Mapping[UUID, int]) -> Assignment:
    """Who gets what; static members come first, by their instance, so that they keep their place over a restart."""
    assignment: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in members}
    ordered = sorted(
        members, key=lambda m: (members[m].instance_id is None, members[m].instance_id or m)
    )
    for topic_id, partition_count in topics.items():
        takers = [member_id for member_id in ordered if topic_id in members[member_id].topics]
        if not takers:
            continue
        share, extra = divmod(partition_count, len(takers))
        start = 0
        for place, member_id in enumerate(takers):
            end = start + share + (place < extra)
            if end > start:
                assignment[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return assignment
