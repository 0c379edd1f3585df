"""Pure: the uniform assignor: everybody gets as many partitions as anybody else, and keeps what it had where it can.

Where all want the same topics, loads differ by one at most and no partition moves without need. Where they do not,
loads are as even as the subscriptions let them be: no exchange along a chain of members would make them more even.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import TypeAlias
from uuid import UUID

from ottla.coordination.groups.assignors.spec import Assignment, MemberSpec

_Held: TypeAlias = dict[str, dict[UUID, set[int]]]


def assign(members: Mapping[str, MemberSpec], topics: Mapping[UUID, int]) -> Assignment:
    """Who gets what."""
    wanted = {spec.topics for spec in members.values()}
    held = _assign_equals(members, topics) if len(wanted) <= 1 else _Mixed(members, topics).assign()
    return {
        member_id: {t: frozenset(partitions) for t, partitions in has.items() if partitions}
        for member_id, has in held.items()
    }


def _assign_equals(members: Mapping[str, MemberSpec], topics: Mapping[UUID, int]) -> _Held:
    """All want the same: each gets the same number, and the remainder goes to those who have one more already."""
    held: _Held = {member_id: {} for member_id in members}
    if not members:
        return held
    wanted = next(iter(members.values())).topics
    partition_counts = {t: n for t, n in topics.items() if t in wanted}
    share, extra = divmod(sum(partition_counts.values()), len(members))
    loads = dict.fromkeys(members, 0)
    taken: dict[UUID, set[int]] = {topic_id: set() for topic_id in partition_counts}
    owning = [member_id for member_id, spec in members.items() if spec.given]
    for member_id in sorted(owning, key=lambda m: (-_size(members[m]), m)):
        room = share + (extra > 0)
        loads[member_id] = _keep(members[member_id], held[member_id], partition_counts, taken, room)
        extra -= loads[member_id] > share
    loose = _loose(partition_counts, taken)
    in_order = sorted(members)
    for limit in (share, share + 1):
        for member_id in in_order:
            if limit > share and not extra:
                break
            need = max(limit - loads[member_id], 0)
            for _ in range(need):
                topic_id, partition = next(loose)
                held[member_id].setdefault(topic_id, set()).add(partition)
            loads[member_id] += need
            extra -= need > 0 and limit > share
    return held


def _size(spec: MemberSpec) -> int:
    return sum(map(len, spec.given.values()))


def _keep(
    spec: MemberSpec,
    held: dict[UUID, set[int]],
    partition_counts: Mapping[UUID, int],
    taken: dict[UUID, set[int]],
    room: int,
) -> int:
    """Let a member keep what it had, as far as there is room; how much it keeps."""
    kept = 0
    for topic_id, given in spec.given.items():
        count = partition_counts.get(topic_id)
        if count is None or kept >= room:
            continue
        still = sorted(p for p in given if p < count and p not in taken[topic_id])
        held[topic_id] = set(still[: room - kept])
        taken[topic_id] |= held[topic_id]
        kept += len(held[topic_id])
    return kept


def _loose(
    partition_counts: Mapping[UUID, int], taken: Mapping[UUID, set[int]]
) -> Iterator[tuple[UUID, int]]:
    for topic_id, count in partition_counts.items():
        gone = taken[topic_id]
        for partition in range(count):
            if partition not in gone:
                yield topic_id, partition


class _Mixed:
    """Members that want different topics."""

    def __init__(self, members: Mapping[str, MemberSpec], topics: Mapping[UUID, int]) -> None:
        self._members = members
        self._topics = topics
        self._takers: dict[UUID, list[str]] = {topic_id: [] for topic_id in topics}
        for member_id in sorted(members):
            for topic_id in members[member_id].topics:
                if topic_id in topics:
                    self._takers[topic_id].append(member_id)
        self._held: _Held = {member_id: {} for member_id in members}
        self._loads = dict.fromkeys(members, 0)

    def assign(self) -> _Held:
        taken: dict[UUID, set[int]] = {topic_id: set() for topic_id in self._topics}
        for member_id in sorted(self._members):
            spec = self._members[member_id]
            wanted = {t: n for t, n in self._topics.items() if t in spec.topics}
            self._loads[member_id] = _keep(
                spec, self._held[member_id], wanted, taken, room=sum(wanted.values())
            )
        # What few want is given out first, while there is still a choice for the rest.
        for topic_id in sorted(self._topics, key=lambda t: len(self._takers[t])):
            self._hand_out(topic_id, taken[topic_id])
        self._level()
        return self._held

    def _level(self) -> None:
        """Take partitions off the fullest as long as somebody gets lighter by it."""
        moved = True
        while moved:
            moved = False
            for member_id in sorted(self._members, key=lambda m: -self._loads[m]):
                while self._relieve(member_id):
                    moved = True

    def _hand_out(self, topic_id: UUID, taken: set[int]) -> None:
        queue = [(self._loads[member_id], member_id) for member_id in self._takers[topic_id]]
        if not queue:
            return
        heapify(queue)
        for partition in range(self._topics[topic_id]):
            if partition not in taken:
                load, member_id = heappop(queue)
                self._held[member_id].setdefault(topic_id, set()).add(partition)
                self._loads[member_id] = load + 1
                heappush(queue, (load + 1, member_id))

    def _relieve(self, member_id: str) -> bool:
        """Take one partition off a member if somebody has two less, passing others on along a chain if need be."""
        limit = self._loads[member_id] - 2
        came_from: dict[str, tuple[str, UUID]] = {}
        ahead, seen_topics = deque([member_id]), set()
        while ahead:
            giver = ahead.popleft()
            for topic_id, partitions in self._held[giver].items():
                if not partitions or topic_id in seen_topics:
                    continue
                seen_topics.add(topic_id)
                for taker in self._takers[topic_id]:
                    if taker == member_id or taker in came_from:
                        continue
                    came_from[taker] = (giver, topic_id)
                    if self._loads[taker] <= limit:
                        self._pass_on(member_id, taker, came_from)
                        return True
                    ahead.append(taker)
        return False

    def _pass_on(self, first: str, last: str, came_from: Mapping[str, tuple[str, UUID]]) -> None:
        self._loads[first] -= 1
        self._loads[last] += 1
        while last != first:
            giver, topic_id = came_from[last]
            partition = max(self._held[giver][topic_id])
            self._held[giver][topic_id].remove(partition)
            self._held[last].setdefault(topic_id, set()).add(partition)
            last = giver
