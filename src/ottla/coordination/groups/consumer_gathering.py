"""Pure: members of a consumer group that start together are assigned together.

Were each assigned for as it comes, the first would get everything and had to give up most of it again, and the others
would wait for that until their next heartbeats, seconds later. So who is new gets its answer some milliseconds later,
when nobody else comes any more. The members are in the log at once; only their answers wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.coordination.decision import Token
from ottla.coordination.groups import arrivals
from ottla.coordination.groups.consumer_member import JOIN_EPOCH
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from ottla.coordination.groups.consumer import ConsumerGroup

GATHER: Final = "gather"
"""The timer that ends the gathering of a group."""

# How long one that is alone waits for another, and several at least for one more; where they come slowly, since the
# machine is busy, it is a third of the time that they have taken so far. Where nobody asks for anything any more it is
# less, and where somebody is known to be on its way more. And how long they wait in all.
ALONE_MS: Final = 1
TOGETHER_MS: Final = 3
LONGEST_MS: Final = 200
TOLD_AT_ONCE: Final = 50
"""Of a large group as many get their answer in one turn of the loop."""


class Newcomer(NamedTuple):
    """Who waits, and what it has asked."""

    request: ConsumerGroupHeartbeatRequest
    token: Token


class Gathering:
    """Those who have joined a group and wait for their first assignment; soft state."""

    __slots__ = ("since_ms", "waiting")

    def __init__(self) -> None:
        self.since_ms = 0
        # By member; one that did not get its answer may ask again.
        self.waiting: dict[str, list[Newcomer]] = {}

    def turn_away(self, member_id: str, error: ApiError) -> list[tuple[Token, ApiError]]:
        """A member does not wait any longer, and is told why."""
        return [(newcomer.token, error) for newcomer in self.waiting.pop(member_id, ())]


def waits(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, member_id: str) -> bool:
    """Whether a member that joins is one of those who gather; one that comes back has its place already."""
    if request.member_epoch != JOIN_EPOCH:
        return False
    return member_id not in group.members or member_id in group.gathering.waiting


def wait(group: ConsumerGroup, member_id: str, newcomer: Newcomer, now_ms: int) -> None:
    """Have a member wait for others; the group is asked when GATHER is due."""
    gathering = group.gathering
    if not gathering.waiting:
        gathering.since_ms = now_ms
    if member_id not in gathering.waiting:
        group.arrivals.came(group.group_id)
    gathering.waiting.setdefault(member_id, []).append(newcomer)
    others_come = group.arrivals.are_expected(group.group_id, now_ms)
    quiet_ms = ALONE_MS
    if len(gathering.waiting) > 1:
        quiet_ms = max(TOGETHER_MS, (now_ms - gathering.since_ms) // 3)
    if others_come:
        quiet_ms = max(quiet_ms, arrivals.LONGEST_MS)
    until_ms = min(now_ms + quiet_ms, gathering.since_ms + LONGEST_MS)
    group.timers.schedule((GATHER, group.group_id, ""), until_ms, or_quiet=not others_come)
