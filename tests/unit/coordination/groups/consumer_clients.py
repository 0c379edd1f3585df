"""Simulated consumers of a consumer group (KIP-848) and the shard they talk to, as the runtime would run it."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.cluster.image import Changes, ConfigImage, Image, PartitionImage, TopicImage, advance
from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import Decision
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.consumer_gathering import ALONE_MS
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.topics import Topics
from ottla.protocol.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.refusing import refused_by_log

GROUP = "g"
Owned = set[tuple[str, int]]


class World:
    """One shard, its log and the topics of the cluster."""

    def __init__(self, **settings: Any) -> None:
        self.config = GroupsConfig(**settings)
        self.topics = Topics()
        self.shard = GroupShard(self.config, self.topics)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.now_ms = 1_000_000
        self._ids = 0
        # Of the next decisions that have records the log refuses as many.
        self.refusals = 0

    @property
    def image(self) -> Image:
        return self.topics.image

    def set_topic(self, name: str, partitions: int) -> None:
        """Make a topic, or give it more partitions; none deletes it."""
        before = self.image.topics.get(name)
        topic = None
        if partitions:
            self._ids += before is None
            topic_id = UUID(int=self._ids) if before is None else before.topic_id
            rows = tuple(PartitionImage(n, (1,), (1,), 1, 0, 0) for n in range(partitions))
            topic = TopicImage(name, topic_id, rows, 0)
        image, delta = advance(self.image, Changes(topics={name: topic}))
        self.topics.apply(image, delta)
        self.carry_out(self.shard.topics_changed(delta, self.now_ms))

    def set_group(self, **settings: int) -> None:
        """Give the group settings of its own; none takes them back."""
        values = {f"consumer.{name.replace('_', '.')}": str(ms) for name, ms in settings.items()}
        config = ConfigImage(values, 0) if values else None
        self.topics.apply(*advance(self.image, Changes(group_configs={GROUP: config})))

    def ask(self, decide: Callable[..., Decision], *args: Any) -> Any:
        """Let the shard decide, carry it out, and return what the asker is told, if need be after a moment."""
        told: list[Any] = []
        self.carry_out(decide(*args, told.append, self.now_ms))
        if not told:
            self.advance(ALONE_MS)
        [answer] = told
        return answer

    def carry_out(self, decision: Decision) -> None:
        if decision.records and self.refusals:
            self.refusals -= 1
            self.carry_out(refused_by_log(decision, self.now_ms))
            return
        self.log += decision.records
        if decision.replay is not None:
            decision.replay()
        else:
            for key, value in decision.records:
                self.shard.replay(key, value, None)
        for token, value in decision.replies:
            token(value)

    def advance(self, by_ms: int) -> None:
        """Let time pass, and whatever is due happen in it."""
        until_ms = self.now_ms + by_ms
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.carry_out(self.shard.tick(self.now_ms))
        self.now_ms = until_ms

    def set_clock(self, by_ms: int) -> None:
        """Somebody puts the clock forward or back."""
        self.now_ms += by_ms
        self.shard.clock_was_set(by_ms, self.now_ms)

    def replayed(self) -> GroupShard:
        """A machine that has learned everything from the log."""
        shard = GroupShard(self.config, self.topics)
        for key, value in self.log:
            shard.replay(key, value, None)
        return shard

    def restart(self) -> None:
        """The broker crashes and loads the log."""
        self.shard = self.replayed()
        self.shard.loaded(self.now_ms)

    @property
    def group(self) -> ConsumerGroup:
        found = self.shard.groups[GROUP]
        assert isinstance(found, ConsumerGroup), found
        return found

    def name_of(self, topic_id: UUID) -> str:
        topic = self.image.topics_by_id.get(topic_id)
        return str(topic_id) if topic is None else topic.name

    def id_of(self, name: str) -> UUID:
        topic = self.image.topics.get(name)
        return UUID(name) if topic is None else topic.topic_id


class Client:
    """A consumer: it owns what it was told to own, until it gives it up or learns that it is out."""

    def __init__(self, world: World, name: str, instance_id: str | None = None) -> None:
        self.world = world
        self.name = name
        self.instance_id = instance_id
        self.member_id = name
        self.epoch = 0
        self.heartbeat_interval_ms = 0
        # By id of the topic: a topic may be deleted while it is owned.
        self.owned: set[tuple[UUID, int]] = set()
        self.to_revoke: set[tuple[UUID, int]] = set()

    def join(self, *names: str, pattern: str | None = None, **fields: Any) -> int:
        """Join with a subscription; the error code."""
        return self.heartbeat(**self._joining(names, pattern), **fields)

    def begin_join(self, *names: str) -> Callable[[], int]:
        """Ask to join without waiting for the answer; what takes it in later gives the error code."""
        told: list[Any] = []
        request, caller = self._request(**self._joining(names, None)), Caller(self.name, "/host", 1)
        world = self.world
        world.carry_out(world.shard.consumer_heartbeat(request, caller, told.append, world.now_ms))
        return lambda: self._take(*told)

    def _joining(self, names: Sequence[str], pattern: str | None) -> dict[str, Any]:
        self.epoch, self.owned, self.to_revoke = 0, set(), set()
        return {
            "subscribed_topic_names": list(names),
            "subscribed_topic_regex": pattern,
            "topic_partitions": [],
        }

    def heartbeat(self, *, lost: bool = False, **fields: Any) -> int:
        """Say that it lives, and what it owns; the error code. The answer may get lost."""
        request, caller = self._request(**fields), Caller(self.name, "/host", 1)
        answer = self.world.ask(self.world.shard.consumer_heartbeat, request, caller)
        return self._take(answer, lost=lost)

    def _request(self, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        if "subscribed_topic_names" in fields and not self.epoch:
            fields.setdefault("rebalance_timeout_ms", 30_000)
        return ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=fields.pop("member_id", self.member_id),
            member_epoch=fields.pop("member_epoch", self.epoch),
            instance_id=self.instance_id,
            topic_partitions=fields.pop("topic_partitions", self.claims()),
            **fields,
        )

    def _take(self, answer: Any, *, lost: bool = False) -> int:
        if isinstance(answer, ApiError):
            if answer.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                self.epoch, self.owned, self.to_revoke = 0, set(), set()
            return answer.code
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        if not lost:
            self._learn(answer)
        return answer.error_code

    def _learn(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.member_id, self.epoch = answer.member_id or "", answer.member_epoch
        self.heartbeat_interval_ms = answer.heartbeat_interval_ms
        if answer.assignment is not None:
            assigned = {
                (each.topic_id, p)
                for each in answer.assignment.topic_partitions
                for p in each.partitions
            }
            self.to_revoke = self.owned - assigned
            self.owned |= assigned

    def revoke(self) -> None:
        """Stop reading what it was told to give up."""
        self.owned -= self.to_revoke
        self.to_revoke = set()

    def leave(self, epoch: int = -1) -> int:
        """Go for good, or as a static member for a while; the error code."""
        return self.heartbeat(member_epoch=epoch, topic_partitions=None, lost=True)

    def claims(self) -> list[TopicPartitions]:
        """What it owns, as a heartbeat says it."""
        topics: dict[UUID, list[int]] = {}
        for topic_id, partition in sorted(self.owned, key=str):
            topics.setdefault(topic_id, []).append(partition)
        return [TopicPartitions(topic_id=t, partitions=ps) for t, ps in topics.items()]

    def reads(self) -> Owned:
        """What it owns, by name."""
        return {(self.world.name_of(topic_id), p) for topic_id, p in self.owned}


def settle(*clients: Client, rounds: int = 12) -> None:
    """Let everybody report and give up what it is told to, until nothing is left to do."""
    for _ in range(rounds):
        for client in clients:
            client.heartbeat()
            client.revoke()
        clients[0].world.advance(1000)
