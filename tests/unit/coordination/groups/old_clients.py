"""Simulated consumers of the classic protocol, in a group of either kind."""

from typing import Any

from ottla.base.errors import ApiError
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from ottla.protocol.apis.leave_group import MemberIdentity
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
from tests.unit.coordination.groups.consumer_clients import GROUP, World
from tests.unit.coordination.groups.transcripts import told

# What a client is about to do: join, wait for the answer, sync, or report.
OUT, WAITS, JOINED, STABLE = "out", "waits", "joined", "stable"


class OldClient:
    """A consumer of the classic protocol; it gives up everything before it joins, as eager ones do."""

    def __init__(self, world: World, name: str, instance_id: str | None = None) -> None:
        self.world, self.name, self.instance_id = world, name, instance_id
        self.member_id, self.generation = "", -1
        self.state = OUT
        self.led: list[str] = []
        self.owned: set[tuple[str, int]] = set()
        self._news: list[str] = []

    def join(self, *topics: str) -> None:
        self.owned, self.state = set(), WAITS
        metadata = encode_subscription(Subscription(topics=list(topics)), 1)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        fresh = f"{len(self.world.log)}"
        self._ask(self.world.shard.join, request, Caller(self.name, "/host", 3, fresh))

    def sync(self, given: dict[str, list[str]]) -> None:
        self.state = WAITS
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=member_id, assignment=encode_assignment(in_bytes(owned))
                )
                for member_id, owned in given.items()
            ],
        )
        self._ask(self.world.shard.sync, request, Caller(self.name, "/host", 5))

    def heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        self._ask(self.world.shard.heartbeat, request)

    def leave(self) -> None:
        self.owned, self.state = set(), OUT
        self._ask(self.world.shard.leave, GROUP, [MemberIdentity(member_id=self.member_id)])

    def follow(self, topic: str, partitions: int) -> None:
        """Do the next thing that a client does, as one that shares a single topic."""
        if self.state == OUT:
            self.join(topic)
        elif self.state == JOINED:
            share: dict[str, list[str]] = {member_id: [] for member_id in self.led}
            for partition in range(partitions if self.led else 0):
                share[self.led[partition % len(self.led)]].append(f"{topic}-{partition}")
            self.sync(share)
        elif self.state == STABLE:
            self.heartbeat()

    def take_news(self) -> list[str]:
        """What it was told lately, in words."""
        news, self._news = self._news, []
        return news

    def _ask(self, decide: Any, *args: Any) -> None:
        self.world.carry_out(decide(*args, self._told, self.world.now_ms))

    def _told(self, answer: Any) -> None:
        if isinstance(answer, JoinGroupResponse):
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self.state, self.led = JOINED, [each.member_id for each in answer.members]
            role = "leads" if answer.members else "follows"
            words = f"joined generation {answer.generation_id} and {role}"
        elif isinstance(answer, SyncGroupResponse):
            parts = decode_assignment(answer.assignment).partitions
            self.owned = {(each.topic, p) for each in parts for p in each.partitions}
            self.state, words = STABLE, "synced"
        elif isinstance(answer, list):
            words = ", ".join(told(code) for code in answer)
        else:
            code = answer.code if isinstance(answer, ApiError) else answer
            words = told(code)
            if code:
                self.state = OUT
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id, self.generation, self.owned = "", -1, set()
        self._news.append(f"{self.name}: {words}")


def in_bytes(owned: list[str]) -> Assignment:
    """The assignment of `alpha-0`, `alpha-1` and so on."""
    topics: dict[str, list[int]] = {}
    for each in owned:
        topic, _, partition = each.rpartition("-")
        topics.setdefault(topic, []).append(int(partition))
    return Assignment(
        partitions=[TopicPartitions(topic=t, partitions=p) for t, p in topics.items()]
    )
