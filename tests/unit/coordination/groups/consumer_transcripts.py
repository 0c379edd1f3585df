"""Plays a transcript against the machine of consumer groups, as the runtime would: decide, replay, reply.

A line that begins at the margin is what somebody does; the indented lines below it are what comes of it: the answer,
who reads what if that has changed, and the state the group changes to. Clients of the classic protocol do `old-...`.
"""

from collections.abc import Iterable
from typing import Any

from ottla.base.errors import ApiError
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer import ConsumerGroup
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
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World
from tests.unit.coordination.groups.transcripts import milliseconds, told


class Player:
    """One group and those who use it."""

    def __init__(self) -> None:
        self.world = World()
        self.clients: dict[str, Client] = {}
        self.olds: dict[str, OldClient] = {}
        self.out: list[str] = []

    def play(self, text: str) -> str:
        """The transcript as it really goes."""
        lines = []
        for line in text.splitlines():
            if line.startswith("  "):
                continue
            lines.append(line)
            if line and not line.startswith("#"):
                lines += [f"  {each}" for each in self.do(line)]
        return "\n".join(lines) + "\n"

    def do(self, line: str) -> list[str]:
        """One step and what comes of it."""
        self.out = []
        before, reading = self.state(), self.reading()
        words = line.split()
        plain = [word for word in words[1:] if "=" not in word]
        named = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        getattr(self, f"do_{words[0].replace('-', '_')}")(plain, named)
        for old in self.olds.values():
            self.out += old.take_news()
        for name, read in self.reading().items():
            if read != reading.get(name, "nothing"):
                self.out.append(f"{name} reads {read}")
        if self.state() != before:
            self.out.append(f"-> {self.state()}")
        return self.out

    def state(self) -> str:
        group = self.world.shard.groups.get(GROUP)
        return "gone" if group is None else f"{group.type_name} {group.state_name}"

    def reading(self) -> dict[str, str]:
        found = {name: in_words(client.reads()) for name, client in self.clients.items()}
        return found | {name: in_words(old.owned) for name, old in self.olds.items()}

    def answer(self, who: str, code: int) -> None:
        epoch = self.clients[who].epoch
        self.out.append(f"{who}: {told(code)}" if code else f"{who}: epoch {epoch}")

    # ------------------------------------------------------------------------- steps

    def do_config(self, plain: list[str], named: dict[str, str]) -> None:
        self.world = World(**{k: int(v) if v.isdigit() else v for k, v in named.items()})

    def do_topic(self, plain: list[str], named: dict[str, str]) -> None:
        self.world.set_topic(plain[0], int(plain[1]))

    def do_join(self, plain: list[str], named: dict[str, str]) -> None:
        [who] = plain
        client = self.clients.get(who) or Client(self.world, who, named.get("instance"))
        client.member_id = named.get("id", client.member_id)
        self.clients[who] = client
        fields: dict[str, Any] = {}
        if "assignor" in named:
            fields["server_assignor"] = named["assignor"]
        if "revokes_in" in named:
            fields["rebalance_timeout_ms"] = milliseconds(named["revokes_in"])
        topics = [name for name in named.get("topics", "").split(",") if name]
        self.answer(who, client.join(*topics, pattern=named.get("pattern"), **fields))

    def do_heartbeat(self, plain: list[str], named: dict[str, str]) -> None:
        fields: dict[str, Any] = {"lost": "lost" in plain}
        if "topics" in named:
            fields["subscribed_topic_names"] = named["topics"].split(",")
        if "pattern" in named:
            fields["subscribed_topic_regex"] = named["pattern"]
        if "epoch" in named:
            fields["member_epoch"] = int(named["epoch"])
        if "id" in named:
            fields["member_id"] = named["id"]
        who = plain[0]
        self.answer(who, self.clients[who].heartbeat(**fields))

    def do_revoke(self, plain: list[str], named: dict[str, str]) -> None:
        """A client stops reading what it must give up, and says so."""
        self.clients[plain[0]].revoke()
        self.do_heartbeat(plain, named)

    def do_leave(self, plain: list[str], named: dict[str, str]) -> None:
        client = self.clients[plain[0]]
        code = client.leave(-2 if "for_a_while" in plain else -1)
        client.owned = set()
        self.out.append(f"{plain[0]}: {told(code)}")

    def do_commit(self, plain: list[str], named: dict[str, str]) -> None:
        """Whether a client may commit an offset."""
        client, group = self.clients[plain[0]], self.world.shard.groups[GROUP]
        epoch = int(named.get("epoch", client.epoch))
        code = group.check_commit(client.member_id, None, epoch, transactional=False)
        self.out.append(f"{plain[0]}: {told(code)}")

    def do_advance(self, plain: list[str], named: dict[str, str]) -> None:
        self.world.advance(milliseconds(plain[0]))

    def do_reload(self, plain: list[str], named: dict[str, str]) -> None:
        self.world.restart()

    def do_delete(self, plain: list[str], named: dict[str, str]) -> None:
        answer = self.world.ask(self.world.shard.delete, GROUP)
        self.out.append(told(answer.code if isinstance(answer, ApiError) else answer))

    def do_describe(self, plain: list[str], named: dict[str, str]) -> None:
        group = self.world.shard.groups[GROUP]
        if isinstance(group, ClassicGroup):
            self.out.append(f"generation {group.generation}: {group.protocol}")
            return
        assert isinstance(group, ConsumerGroup)
        self.out.append(f"epoch {group.epoch}, assigned for epoch {group.assignment_epoch}")
        for member in group.members.values():
            pairs = {(self.world.name_of(t), p) for t, ps in member.assigned.items() for p in ps}
            self.out.append(
                f"{member.member_id} {member.state.name} in epoch {member.epoch}: {in_words(pairs)}"
            )

    def do_why(self, plain: list[str], named: dict[str, str]) -> None:
        """What the history says."""
        for event in self.world.shard.history.events(GROUP):
            self.out.append(f"{event.what} {event.member_id} {event.detail}".strip())

    # -------------------------------------------------------------- the classic protocol

    def do_old_join(self, plain: list[str], named: dict[str, str]) -> None:
        [who] = plain
        old = self.olds.setdefault(who, OldClient(self.world, who, named.get("instance")))
        old.join(named.get("topics", "").split(","), named.get("protocols", "range").split(","))

    def do_old_sync(self, plain: list[str], named: dict[str, str]) -> None:
        old = self.olds[plain.pop(0)]
        old.sync({who: named[who].split(",") for who in named}, self.olds)

    def do_old_heartbeat(self, plain: list[str], named: dict[str, str]) -> None:
        self.olds[plain[0]].heartbeat()

    def do_old_leave(self, plain: list[str], named: dict[str, str]) -> None:
        self.olds[plain[0]].leave()


class OldClient:
    """A consumer of the classic protocol; it gives up everything before it joins, as eager ones do."""

    def __init__(self, world: World, name: str, instance_id: str | None) -> None:
        self.world, self.name, self.instance_id = world, name, instance_id
        self.member_id, self.generation = "", -1
        self.owned: set[tuple[str, int]] = set()
        self._news: list[str] = []

    def join(self, topics: list[str], protocols: list[str]) -> None:
        self.owned = set()
        metadata = encode_subscription(Subscription(topics=topics), 1)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=n, metadata=metadata) for n in protocols],
        )
        fresh = f"{len(self.world.log)}"
        self._ask(self.world.shard.join, request, Caller(self.name, "/host", 3, fresh))

    def sync(self, given: dict[str, list[str]], others: dict[str, "OldClient"]) -> None:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=others[who].member_id, assignment=encode_assignment(in_bytes(owned))
                )
                for who, owned in given.items()
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
        self.owned = set()
        self._ask(self.world.shard.leave, GROUP, [MemberIdentity(member_id=self.member_id)])

    def take_news(self) -> list[str]:
        news, self._news = self._news, []
        return news

    def _ask(self, decide: Any, *args: Any) -> None:
        self.world.carry_out(decide(*args, self._told, self.world.now_ms))

    def _told(self, answer: Any) -> None:
        if isinstance(answer, JoinGroupResponse):
            self.member_id, self.generation = answer.member_id, answer.generation_id
            role = "leads" if answer.members else "follows"
            words = f"joined generation {answer.generation_id} and {role}"
        elif isinstance(answer, SyncGroupResponse):
            parts = decode_assignment(answer.assignment).partitions
            self.owned = {(each.topic, p) for each in parts for p in each.partitions}
            words = "synced"
        elif isinstance(answer, list):
            words = ", ".join(told(code) for code in answer)
        else:
            words = told(answer.code if isinstance(answer, ApiError) else answer)
        self._news.append(f"{self.name}: {words}")


def in_words(owned: Iterable[tuple[str, int]]) -> str:
    """Partitions as `alpha-0,1 beta-0`."""
    topics: dict[str, list[str]] = {}
    for topic, partition in sorted(owned):
        topics.setdefault(topic, []).append(str(partition))
    return " ".join(f"{topic}-{','.join(found)}" for topic, found in topics.items()) or "nothing"


def in_bytes(owned: list[str]) -> Assignment:
    """The assignment of `alpha-0`, `alpha-1` and so on."""
    topics: dict[str, list[int]] = {}
    for each in owned:
        topic, _, partition = each.rpartition("-")
        topics.setdefault(topic, []).append(int(partition))
    return Assignment(
        partitions=[TopicPartitions(topic=t, partitions=p) for t, p in topics.items()]
    )
