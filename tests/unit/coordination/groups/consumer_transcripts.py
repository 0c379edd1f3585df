"""Plays a transcript against the machine of consumer groups, as the runtime would: decide, replay, reply.

A line that begins at the margin is what somebody does; the indented lines below it are what comes of it: the answer,
who reads what if that has changed, and the state the group changes to. Clients of the classic protocol do `old-...`.
"""

from collections.abc import Iterable
from typing import Any

from ottla.base.errors import ApiError
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.offset_requests import Commit
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World
from tests.unit.coordination.groups.old_clients import OldClient
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
        code = group.check_commit(Commit(GROUP, (), 9, client.member_id, None, epoch))
        self.out.append(f"{plain[0]}: {told(code)}")

    def do_advance(self, plain: list[str], named: dict[str, str]) -> None:
        self.world.advance(milliseconds(plain[0]))

    def do_reload(self, plain: list[str], named: dict[str, str]) -> None:
        self.world.restart()

    def do_refuse(self, plain: list[str], named: dict[str, str]) -> None:
        """The log refuses the next records, or those of as many decisions."""
        self.world.refusals = int(plain[0]) if plain else 1

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
            words = (event.what, event.member_id, event.detail)
            self.out.append(" ".join(word for word in words if word))

    # -------------------------------------------------------------- the classic protocol

    def do_old_join(self, plain: list[str], named: dict[str, str]) -> None:
        [who] = plain
        old = self.olds.setdefault(who, OldClient(self.world, who, named.get("instance")))
        old.join(*named.get("topics", "").split(","))

    def do_old_sync(self, plain: list[str], named: dict[str, str]) -> None:
        self.olds[plain[0]].sync(
            {self.olds[who].member_id: owned.split(",") for who, owned in named.items()}
        )

    def do_old_heartbeat(self, plain: list[str], named: dict[str, str]) -> None:
        self.olds[plain[0]].heartbeat()

    def do_old_leave(self, plain: list[str], named: dict[str, str]) -> None:
        self.olds[plain[0]].leave()


def in_words(owned: Iterable[tuple[str, int]]) -> str:
    """Partitions as `alpha-0,1 beta-0`."""
    topics: dict[str, list[str]] = {}
    for topic, partition in sorted(owned):
        topics.setdefault(topic, []).append(str(partition))
    return " ".join(f"{topic}-{','.join(found)}" for topic, found in topics.items()) or "nothing"
