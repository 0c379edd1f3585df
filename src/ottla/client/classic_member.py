"""Pure: a member of a classic group: who it is, and what each answer of the coordinator makes of it.

    UNJOINED -> JOINING -> STABLE -> (asked to) JOINING ...

Every error in every answer has one of four meanings: join again as the same member, join again as a
new one since the coordinator knows this one no more, try again a little later, or give up.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.client.errors import error_code
from ottla.protocol.errors import ErrorCode

UNKNOWN_GENERATION: Final = -1


class Next(Enum):
    """What to do after an answer."""

    GO_ON = "go on"
    JOIN_AGAIN = "join again"
    JOIN_AS_NEW = "join again as a new member, all partitions lost"
    LATER = "try again a little later"
    GIVE_UP = "give up"


_MEANINGS: Final = {
    ErrorCode.NONE: Next.GO_ON,
    ErrorCode.REBALANCE_IN_PROGRESS: Next.JOIN_AGAIN,
    ErrorCode.MEMBER_ID_REQUIRED: Next.JOIN_AGAIN,
    ErrorCode.UNKNOWN_MEMBER_ID: Next.JOIN_AS_NEW,
    ErrorCode.ILLEGAL_GENERATION: Next.JOIN_AS_NEW,
}


class ClassicMember:
    """What a member knows of itself."""

    __slots__ = ("generation", "member_id", "protocol", "rejoin", "stable")

    def __init__(self) -> None:
        self.member_id = ""
        self.generation = UNKNOWN_GENERATION
        self.protocol = ""
        self.rejoin = True
        self.stable = False

    def heard(self, code: int, member_id: str | None = None) -> Next:
        """Take note of an answer."""
        meaning = _MEANINGS.get(error_code(code))
        if meaning is None:
            meaning = Next.LATER if error_code(code).retriable else Next.GIVE_UP
        if code == ErrorCode.MEMBER_ID_REQUIRED and member_id:
            self.member_id = member_id
        if meaning is Next.JOIN_AGAIN:
            self.rejoin = True
        elif meaning is Next.JOIN_AS_NEW:
            self.forget(keep_id=code == ErrorCode.ILLEGAL_GENERATION)
        return meaning

    def joined(self, member_id: str, generation: int, protocol: str) -> None:
        """A generation with this member in it has begun; its assignment is still to come."""
        self.member_id, self.generation, self.protocol = member_id, generation, protocol

    def synced(self) -> None:
        """The assignment has come."""
        self.stable, self.rejoin = True, False

    def ask_to_rejoin(self) -> None:
        """Something changed: the group must share out anew."""
        self.rejoin = True

    def forget(self, *, keep_id: bool = False) -> None:
        """The coordinator counts this member as gone."""
        if not keep_id:
            self.member_id = ""
        self.generation, self.stable, self.rejoin = UNKNOWN_GENERATION, False, True


def changes(
    owned: frozenset[TopicPartition], assigned: frozenset[TopicPartition]
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """What to let go of, and what to take."""
    return sorted(owned - assigned), sorted(assigned - owned)
