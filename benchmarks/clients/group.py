"""Members of one group, each on a connection of its own: how long until all share the topic and nobody moves."""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.clients.classic_member import ClassicMember
from benchmarks.clients.connection import connect
from benchmarks.clients.consumer_member import ConsumerMember
from benchmarks.clients.coordinator import wait_for_coordinator
from benchmarks.clients.member import HEARTBEAT_SECONDS, Member
from benchmarks.clients.stopwatch import Stopwatch

STABLE_WITHIN_SECONDS = 120.0
KINDS: dict[str, type[Member]] = {"classic": ClassicMember, "consumer": ConsumerMember}


def _is_stable(members: Sequence[Member], partitions: int) -> bool:
    """Whether all are in one generation, nobody shares a partition, and none is left over."""
    if not all(member.settled for member in members):
        return False
    owned = [partition for member in members for partition in member.owned]
    return len({member.generation for member in members}) == 1 and (
        len(owned) == len(set(owned)) == partitions
    )


def _run(members: Sequence[Member], partitions: int) -> None:
    poll = select.epoll()
    by_descriptor = {member.connection.fileno(): member for member in members}
    for descriptor, member in by_descriptor.items():
        poll.register(descriptor, select.EPOLLIN)
        member.join()
    due = time.monotonic()
    deadline = due + STABLE_WITHIN_SECONDS
    while not _is_stable(members, partitions):
        now = time.monotonic()
        if now > deadline:
            raise TimeoutError(f"the group was not stable within {STABLE_WITHIN_SECONDS:.0f} s")
        if now >= due:
            due = _beat(members, now)
        for descriptor, _ in poll.poll(max(due - now, 0.0)):
            by_descriptor[descriptor].take_answer()


def _beat(members: Sequence[Member], now: float) -> float:
    """Lets everybody say that it lives whose time has come; until when nobody has to again."""
    for member in members:
        member.beat_if_due(now)
    # Whoever gets an answer meanwhile has to no sooner than that.
    return min(now + HEARTBEAT_SECONDS, *(member.next_beat for member in members))


def _rehearse(member: Member, partitions: int) -> None:
    """Has a group of one come and go, so that what this process does once is not measured: it compiles codecs."""
    wait_for_coordinator(member.connection, member.group)
    member.partitions = partitions
    _run([member], partitions)
    member.leave()


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Opens the connections, then measures from the first request to join until the group is stable."""
    group, count = spec["group"], int(spec["members"])
    connections = [connect(spec["bootstrap"]) for _ in range(count)]
    wait_for_coordinator(connections[0], group)
    for connection in connections:
        # A socket with a time-out is asked first whether it would block; a client that takes long is part of both
        # brokers' time.
        connection.settimeout(None)
    kind = KINDS[spec["protocol"]]
    members = [kind(connection, group, spec["topic"]) for connection in connections]
    for member in members:
        member.partitions = int(spec["partitions"])
        member.prepare(count)
    _rehearse(kind(connections[0], f"{group}-rehearsal", spec["topic"]), int(spec["partitions"]))
    with Stopwatch() as watch:
        _run(members, int(spec["partitions"]))
    for member in members:
        member.leave()
        member.connection.close()
    return {"seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
