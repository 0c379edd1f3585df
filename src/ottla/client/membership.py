"""Pure: what a consumer and its membership of a group expect of each other, in either protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ottla.base.ids import TopicPartition


class Standing(NamedTuple):
    """Who a consumer is in its group; without membership, only the group counts."""

    group_id: str
    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


class Owner(Protocol):
    """The consumer, as its membership sees it; all of it happens inside of `poll`."""

    async def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        """Commit if that is automatic, tell the listener, and read these no more."""

    async def lose(self, partitions: Iterable[TopicPartition]) -> None:
        """Do the same without a commit: another member may have the partitions by now."""

    async def take(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these as well, and tell the listener."""

    def owned(self) -> frozenset[TopicPartition]:
        """What is assigned."""


class Membership(Protocol):
    """A membership of a group."""

    losses: int
    """How often all partitions were lost: a commit begun before a loss is not repeated after it."""

    def standing(self) -> Standing:
        """The member that owns what the program reads, for commits.

        It stays the same after the coordinator has removed this member, until `step` has told the program: a
        commit of a stalled member must be refused. Without it such a commit would carry no member at all, and a
        coordinator lets those pass while a group is empty.
        """

    async def step(self, now_ms: float) -> None:
        """Do what the group needs done that does not wait for a broker; raises what ends the membership."""

    def settled(self) -> bool:
        """Whether the member has its assignment, so that an empty one is no reason to wait."""

    async def close(self) -> None:
        """Leave the group."""
