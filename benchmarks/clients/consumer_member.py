"""A member of a consumer group (KIP-848): one request for everything, sent again at once when something changed."""

from __future__ import annotations

import uuid
from typing import Any

from benchmarks.clients.connection import BrokerRefused
from benchmarks.clients.coordinator import ask
from benchmarks.clients.member import REBALANCE_MS, Member
from ottla.protocol.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)

VERSION = 1
JOIN_EPOCH, LEAVE_EPOCH = 0, -1


class ConsumerMember(Member):
    """Speaks ConsumerGroupHeartbeat."""

    join_version = VERSION

    def joining(self) -> ConsumerGroupHeartbeatRequest:
        """Asks to be let in, owning nothing."""
        self.member_id = str(uuid.uuid4())
        self._topic_id = uuid.UUID(int=0)
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=JOIN_EPOCH,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[self.topic],
            topic_partitions=[],
        )

    def beat(self) -> None:
        """Says that it lives, and if that has changed what it owns."""
        owned = None
        if not self.settled:
            parts = sorted(self.owned)
            owned = [TopicPartitions(topic_id=self._topic_id, partitions=parts)] if parts else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.generation,
            topic_partitions=owned,
        )
        self.settled = True
        self.ask(request, VERSION)

    def leave(self) -> None:
        """Goes for good."""
        if self._asked is not None:
            self.take_answer()
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=LEAVE_EPOCH
        )
        ask(self.connection, request, VERSION)

    def answered(self, answer: Any) -> None:
        """Takes what it is given, gives up what it is not, and says so at once."""
        if answer.error_code:
            raise BrokerRefused(f"a heartbeat was answered with error {answer.error_code}")
        self.generation = answer.member_epoch
        if answer.assignment is None:
            self.wait_to_beat()
            return
        given = answer.assignment.topic_partitions
        self._topic_id = given[0].topic_id if given else self._topic_id
        self.owned = frozenset(number for each in given for number in each.partitions)
        self.settled = False
        self.beat()
