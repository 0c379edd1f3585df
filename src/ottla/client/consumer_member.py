"""Pure: a member of a group whose partitions the broker assigns (KIP-848).

Each heartbeat says what changed at the member since the last one that was heard, each answer what
changed at the coordinator: the member's epoch, and its target assignment. Epoch 0 joins, -1 leaves,
-2 leaves for a while (a static member).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from uuid import UUID

from ottla.client.classic_member import Next
from ottla.client.errors import error_code
from ottla.protocol.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from ottla.protocol.errors import ErrorCode

JOIN: Final = 0
LEAVE: Final = -1
LEAVE_FOR_A_WHILE: Final = -2


class Told(NamedTuple):
    """What a heartbeat says that may be left out of the next."""

    topics: frozenset[str] | None = None
    owned: frozenset[tuple[UUID, int]] | None = None


class ConsumerMember:
    """What a member knows of itself."""

    __slots__ = ("_asked", "_heard", "epoch", "interval_ms", "member_id", "target")

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.epoch = JOIN
        self.interval_ms = 0
        self.target: frozenset[tuple[UUID, int]] | None = None
        self._asked = Told()
        self._heard = Told()

    def heartbeat(
        self, group_id: str, topics: frozenset[str], owned: frozenset[tuple[UUID, int]]
    ) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat, with what has changed."""
        joining = self.epoch == JOIN
        if joining:
            owned = frozenset()
        self._asked = Told(topics, owned)
        known = Told() if joining else self._heard
        return ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            subscribed_topic_names=None if topics == known.topics else sorted(topics),
            topic_partitions=None if owned == known.owned else _by_id(owned),
        )

    def heard(self, response: ConsumerGroupHeartbeatResponse) -> Next:
        """Take note of an answer."""
        code = response.error_code
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.forget()
            return Next.JOIN_AS_NEW
        if code:
            self.unheard()
            return Next.LATER if error_code(code).retriable else Next.GIVE_UP
        self.member_id = response.member_id or self.member_id
        self.epoch, self.interval_ms = response.member_epoch, response.heartbeat_interval_ms
        self._heard = self._asked
        if response.assignment is not None:
            self.target = frozenset(
                (topic.topic_id, number)
                for topic in response.assignment.topic_partitions
                for number in topic.partitions
            )
        return Next.GO_ON

    def unheard(self) -> None:
        """No answer came: the next heartbeat says everything."""
        self._heard = Told()

    def forget(self) -> None:
        """The coordinator counts this member as gone; it may come back under the same id."""
        self.epoch, self.target = JOIN, None
        self.unheard()


def _by_id(partitions: Iterable[tuple[UUID, int]]) -> list[TopicPartitions]:
    topics: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        topics.setdefault(topic_id, []).append(number)
    return [TopicPartitions(topic_id=key, partitions=numbers) for key, numbers in topics.items()]
