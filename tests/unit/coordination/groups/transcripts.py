"""Plays a transcript against the machine of classic groups, as the runtime would: decide, replay, reply.

A line that begins at the margin is what somebody does; the indented lines below it are what comes of it: answers in the
order in which they are given (`a: ...`), what is written, and the state the group changes to. A member is known by the
name of its client; its ids are that name and a number.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import Decision, Transactional
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.describe import describe
from ottla.coordination.groups.group import Caller, Group
from ottla.coordination.groups.offset_requests import Commit
from ottla.coordination.groups.records import GROUP_KEY_VERSION, decode_group_value, key_version
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.state import GroupState
from ottla.coordination.groups.topics import Topics
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
from ottla.protocol.consumer_protocol import Subscription, encode_subscription
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.refusing import refused_by_log

GROUP = "g"


class Player:
    """One group and those who use it."""

    def __init__(self) -> None:
        self.config = GroupsConfig()
        self.shard = GroupShard(self.config, Topics())
        self.log: list[tuple[bytes, bytes | None]] = []
        self.now_ms = 1_000_000
        self.out: list[str] = []
        self.ids: dict[str, str] = {}
        self.generations: dict[str, int] = {}
        self.fresh: dict[str, int] = {}
        self.waiting: set[str] = set()
        self.refuses = False

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
        before = self.state()
        words = line.split()
        plain = [word for word in words[1:] if "=" not in word]
        named = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        getattr(self, f"do_{words[0]}")(plain, named)
        if self.state() != before:
            self.out.append(f"-> {self.state()}")
        return self.out

    def state(self) -> str:
        group = self.shard.groups.get(GROUP)
        return "gone" if group is None else group.state_name

    # ------------------------------------------------------------------------- steps

    def do_config(self, plain: list[str], named: dict[str, str]) -> None:
        values: dict[str, Any] = {name: milliseconds(value) for name, value in named.items()}
        self.config = replace(self.config, **values)
        self.do_reload([], {})

    def do_join(self, plain: list[str], named: dict[str, str]) -> None:
        who = plain[0]
        if "afresh" in plain:
            self.ids.pop(who, None)
        self.fresh[who] = self.fresh.get(who, 0) + 1
        topics = named.get("topics", "t").split(",")
        metadata = encode_subscription(Subscription(topics=topics))
        request = JoinGroupRequest(
            group_id=named.get("group", GROUP),
            session_timeout_ms=milliseconds(named.get("session", "10s")),
            rebalance_timeout_ms=milliseconds(named.get("rebalance", "60s")),
            member_id=named.get("id", self.ids.get(who, "")),
            group_instance_id=named.get("instance"),
            protocol_type=named.get("type", "consumer"),
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name in named.get("protocols", "range").split(",")
                if name
            ],
            reason=named.get("reason"),
        )
        caller = Caller(who, "/host", int(named.get("version", 9)), str(self.fresh[who]))
        self.decide(partial(self.shard.join, request, caller), who)

    def do_sync(self, plain: list[str], named: dict[str, str]) -> None:
        who = plain[0]
        generation = int(named.pop("generation", self.generations.get(who, -1)))
        instance, kind = named.pop("instance", None), named.pop("type", "consumer")
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=named.pop("id", self.ids.get(who, "")),
            group_instance_id=instance,
            protocol_type=kind,
            protocol_name=named.pop("protocol", None),
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=owned.encode())
                for member_id, owned in named.items()
            ],
        )
        self.decide(partial(self.shard.sync, request, Caller(who, "/host", 5)), who)

    def do_heartbeat(self, plain: list[str], named: dict[str, str]) -> None:
        who = plain[0]
        request = HeartbeatRequest(
            group_id=named.get("group", GROUP),
            generation_id=int(named.get("generation", self.generations.get(who, -1))),
            member_id=named.get("id", self.ids.get(who, "")),
            group_instance_id=named.get("instance"),
        )
        self.decide(partial(self.shard.heartbeat, request), who)

    def do_leave(self, plain: list[str], named: dict[str, str]) -> None:
        reason = named.get("reason")
        members = [MemberIdentity(member_id=self.ids.get(who, who), reason=reason) for who in plain]
        if "instance" in named:
            instance, member_id = named["instance"], named.get("id", "")
            members.append(MemberIdentity(member_id=member_id, group_instance_id=instance))
        who = " ".join(plain) or named["instance"]
        self.decide(partial(self.shard.leave, named.get("group", GROUP), members), who)

    def do_delete(self, plain: list[str], named: dict[str, str]) -> None:
        self.decide(lambda token, now_ms: self.shard.delete(GROUP, token, now_ms), "admin")

    def do_commit(self, plain: list[str], named: dict[str, str]) -> None:
        who = plain[0]
        asked = Commit(
            GROUP,
            (),
            8,
            named.get("id", self.ids.get(who, "")),
            named.get("instance"),
            int(named.get("generation", self.generations.get(who, -1))),
            transactional=Transactional(0, 0) if "transactional" in plain else None,
        )
        code = self.group().check_commit(asked)
        self.out.append(f"{who}: {told(code)}")

    def do_advance(self, plain: list[str], named: dict[str, str]) -> None:
        until_ms = self.now_ms + milliseconds(plain[0])
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.carry_out(self.shard.tick(self.now_ms))
        self.now_ms = until_ms

    def do_reload(self, plain: list[str], named: dict[str, str]) -> None:
        """The broker crashes and loads the log."""
        for token in self.shard.parked():
            token(ApiError(ErrorCode.NOT_COORDINATOR))
        self.shard = GroupShard(self.config, Topics())
        for key, value in self.log:
            self.shard.replay(key, value, None)
        self.shard.loaded(self.now_ms)

    def do_refuse(self, plain: list[str], named: dict[str, str]) -> None:
        """The log will not take what is written next."""
        self.refuses = True

    def do_describe(self, plain: list[str], named: dict[str, str]) -> None:
        found = describe(self.shard, GROUP)
        if isinstance(found, ApiError):
            self.out.append(told(found.code))
            return
        self.out.append(
            f"{found.group_state} {found.protocol_type or '-'} {found.protocol_data or '-'}"
        )
        for m in found.members:
            name = m.member_id + (f" ({m.group_instance_id})" if m.group_instance_id else "")
            owned = m.member_assignment.decode() or "nothing"
            self.out.append(f"{name}: {m.client_id} at {m.client_host} owns {owned}")

    def do_why(self, plain: list[str], named: dict[str, str]) -> None:
        """What the history says of rebalances."""
        for event in self.shard.history.events(GROUP):
            if event.what == "rebalance":
                self.out.append(event.detail)

    # ----------------------------------------------------------------------- runtime

    def group(self) -> ClassicGroup:
        found = self.shard.groups[GROUP]
        assert isinstance(found, ClassicGroup)
        return found

    def decide(self, ask: Callable[..., Decision], who: str) -> None:
        answered: list[bool] = []

        def token(value: Any) -> None:
            assert not answered, f"{who} is answered twice"
            answered.append(True)
            self.waiting.discard(who)
            self.out.append(f"{who}: {self.answer(who, value)}")

        self.carry_out(ask(token, self.now_ms))
        if not answered:
            self.waiting.add(who)

    def carry_out(self, decision: Decision) -> None:
        if decision.records and self.refuses:
            self.refuses = False
            self.out.append("the log refused")
            self.carry_out(refused_by_log(decision, self.now_ms))
            return
        for key, value in decision.records:
            self.log.append((key, value))
            self.shard.replay(key, value, None)
            self.out.append(written(key, value))
        for token, value in decision.replies:
            token(value)

    def answer(self, who: str, value: Any) -> str:
        if isinstance(value, ApiError):
            return told(value.code)
        if isinstance(value, list):
            return ", ".join(told(code) for code in value)
        if isinstance(value, JoinGroupResponse):
            self.ids[who] = value.member_id
            if value.error_code:
                return f"{told(value.error_code)} {value.member_id}"
            self.generations[who] = value.generation_id
            return joined(value)
        if isinstance(value, SyncGroupResponse):
            return f"owns {value.assignment.decode() or 'nothing'}"
        return told(value)


def joined(answer: JoinGroupResponse) -> str:
    """A JoinGroup response in words."""
    words = f"{answer.member_id} of generation {answer.generation_id}, {answer.protocol_name}"
    if answer.members:
        words += ", leads " + " ".join(member.member_id for member in answer.members)
    else:
        words += f", follows {answer.leader}"
    return words + (", skips the assignment" if answer.skip_assignment else "")


def written(key: bytes, value: bytes | None) -> str:
    """A record in words."""
    if key_version(key) != GROUP_KEY_VERSION:
        return "wrote something else"
    if value is None:
        return "wrote a tombstone"
    group = decode_group_value(value)
    owned = " ".join(f"{m.member_id}={m.assignment.decode() or 'nothing'}" for m in group.members)
    return f"wrote generation {group.generation}: {owned or 'nobody'}"


def told(code: int) -> str:
    """An error code in words."""
    return "ok" if code == 0 else ErrorCode(code).name


def milliseconds(text: str) -> int:
    """10s, 5m, 100ms, or a plain number."""
    for suffix, factor in (("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text)


def log_agrees(live: Group | None, loaded: Group | None) -> None:
    """Fail unless a machine that was just loaded knows of a classic group what the log has to say of it.

    A generation under way is soft: until it is assigned the log has the one before, or nothing.
    """
    if live is None:
        assert loaded is None
        return
    assert isinstance(live, ClassicGroup)
    is_assigned = live.state in (GroupState.EMPTY, GroupState.STABLE) and live.generation > 0
    if loaded is None:
        assert not is_assigned
        return
    assert isinstance(loaded, ClassicGroup)
    assert loaded.generation <= live.generation
    if is_assigned:
        assert _remembered(loaded) == _remembered(live)
        assert (loaded.state, loaded.state_since_ms) == (live.state, live.state_since_ms)


def _remembered(group: ClassicGroup) -> object:
    """The durable part of a group, in a form that can be compared."""
    value = group.value(0)
    members = [
        tuple(getattr(member, field.name) for field in member.fields) for member in value.members
    ]
    return value.protocol_type, value.generation, value.protocol, value.leader, members
