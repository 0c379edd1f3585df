"""A member of a classic group: joins, assigns when it leads, syncs, joins anew when it must."""

from __future__ import annotations

from typing import Any

from benchmarks.clients.connection import BrokerRefused
from benchmarks.clients.coordinator import ask
from benchmarks.clients.member import REBALANCE_MS, SESSION_MS, Member
from ottla.protocol.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.apis.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.apis.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from ottla.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from ottla.protocol.errors import ErrorCode

JOIN, SYNC, HEARTBEAT, LEAVE = 9, 5, 4, 5


class ClassicMember(Member):
    """Speaks JoinGroup, SyncGroup and Heartbeat."""

    def join(self) -> None:
        """Asks to be in the next generation."""
        self.settled = False
        metadata = encode_subscription(Subscription(topics=[self.topic]), 1)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        self.ask(request, JOIN)

    def beat(self) -> None:
        """Asks whether the generation is still the current one."""
        request = HeartbeatRequest(
            group_id=self.group, generation_id=self.generation, member_id=self.member_id
        )
        self.ask(request, HEARTBEAT)

    def leave(self) -> None:
        """Goes for good."""
        if self._asked is not None:
            self.take_answer()
        members = [MemberIdentity(member_id=self.member_id)]
        ask(self.connection, LeaveGroupRequest(group_id=self.group, members=members), LEAVE)

    def answered(self, answer: Any) -> None:
        """Goes on from joining to syncing to heartbeats, and back when the group rebalances."""
        if isinstance(answer, JoinGroupResponse) and self._joined(answer):
            self._sync(answer)
        elif isinstance(answer, SyncGroupResponse) and not answer.error_code:
            parts = decode_assignment(answer.assignment).partitions
            self.owned = frozenset(number for each in parts for number in each.partitions)
            self.settled = True
            self.wait_to_beat()
        elif isinstance(answer, HeartbeatResponse) and not answer.error_code:
            self.wait_to_beat()
        elif answer.error_code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED):
            self.join()
        else:
            raise BrokerRefused(f"{type(answer).__name__} with error {answer.error_code}")

    def _joined(self, answer: JoinGroupResponse) -> bool:
        self.member_id = answer.member_id or self.member_id
        self.generation = answer.generation_id
        return not answer.error_code

    def _sync(self, joined: JoinGroupResponse) -> None:
        """Tells everybody's share if it leads, and asks for its own."""
        members = [each.member_id for each in joined.members]
        given = [
            SyncGroupRequestAssignment(
                member_id=member_id, assignment=self._share(number, len(members))
            )
            for number, member_id in enumerate(members)
        ]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type=joined.protocol_type,
            protocol_name=joined.protocol_name,
            assignments=given,
        )
        self.ask(request, SYNC)

    def _share(self, number: int, of: int) -> bytes:
        partitions = list(range(number, self.partitions, of))
        named = [TopicPartitions(topic=self.topic, partitions=partitions)]
        return encode_assignment(Assignment(partitions=named))
