"""A member of a classic group: joins, assigns when it leads, syncs, joins anew when it must."""

from __future__ import annotations

from functools import lru_cache
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

    join_version = JOIN

    def prepare(self, count: int) -> None:
        """Any of them may be the one that assigns; what it is going to own has been seen once."""
        super().prepare(count)
        for share in self._shares(count):
            _owned(share)

    def joining(self) -> JoinGroupRequest:
        """Asks to be in the next generation."""
        metadata = encode_subscription(Subscription(topics=[self.topic]), 1)
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )

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
            self.owned = _owned(answer.assignment)
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
            SyncGroupRequestAssignment(member_id=member_id, assignment=share)
            for member_id, share in zip(members, self._shares(len(members)), strict=True)
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

    def _shares(self, count: int) -> list[bytes]:
        return _shares(self.topic, self.partitions, count)


@lru_cache(maxsize=1024)
def _owned(assignment: bytes) -> frozenset[int]:
    parts = decode_assignment(assignment).partitions
    return frozenset(number for each in parts for number in each.partitions)


@lru_cache(maxsize=2)
def _shares(topic: str, partitions: int, count: int) -> list[bytes]:
    """What each of so many members gets."""
    return [
        encode_assignment(
            Assignment(
                partitions=[
                    TopicPartitions(topic=topic, partitions=list(range(number, partitions, count)))
                ]
            )
        )
        for number in range(count)
    ]
