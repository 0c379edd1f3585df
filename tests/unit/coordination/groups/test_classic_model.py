"""Classic groups under anything that members and clocks may do."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.state import GroupState
from ottla.coordination.groups.topics import Topics
from tests.unit.coordination.groups.transcripts import GROUP, Player, log_agrees

NAMES = st.sampled_from("abcd")


class Groups(RuleBasedStateMachine):
    """Members join, sync, live and die at random; the log and the machine must agree at every step."""

    @initialize(delay=st.sampled_from(["0", "3s"]), size=st.sampled_from(["3", "100"]))
    def start(self, delay: str, size: str) -> None:
        self.player = Player()
        self.player.do(f"config group_initial_rebalance_delay_ms={delay} group_max_size={size}")
        self.generation = 0

    @rule(
        who=NAMES,
        version=st.sampled_from([0, 3, 5, 9]),
        instance=st.sampled_from(["", " instance=i1", " instance=i2"]),
        protocols=st.sampled_from(["range", "range,sticky", "sticky", "sticky,range"]),
        afresh=st.sampled_from(["", " afresh"]),
    )
    def join(self, who: str, version: int, instance: str, protocols: str, afresh: str) -> None:
        static = instance if version >= 5 else ""
        self.player.do(f"join {who} version={version} protocols={protocols}{static}{afresh}")

    @rule(who=NAMES)
    def sync(self, who: str) -> None:
        group = self.player.shard.groups.get(GROUP)
        members = group.members if isinstance(group, ClassicGroup) else ()
        given = " ".join(f"{member.member_id}={member.member_id}" for member in members)
        self.player.do(f"sync {who} {given}")

    @rule(who=NAMES)
    def heartbeat(self, who: str) -> None:
        self.player.do(f"heartbeat {who}")

    @rule(who=NAMES)
    def leave(self, who: str) -> None:
        self.player.do(f"leave {who}")

    @rule(instance=st.sampled_from(["i1", "i2"]))
    def remove(self, instance: str) -> None:
        self.player.do(f"leave instance={instance}")

    @rule(seconds=st.sampled_from([0, 1, 5, 9, 61]))
    def advance(self, seconds: int) -> None:
        self.player.do(f"advance {seconds}s")

    @rule()
    def reload(self) -> None:
        self.player.do("reload")
        self.generation = 0

    @rule()
    def delete(self) -> None:
        if self.player.do("delete")[-1] == "-> gone":
            self.generation = 0

    @rule()
    def nobody_waits_for_ever(self) -> None:
        self.player.do("advance 10m")
        assert not self.player.waiting

    @invariant()
    def a_fresh_machine_learns_the_same_from_the_log(self) -> None:
        fresh = GroupShard(self.player.config, Topics())
        for key, value in self.player.log:
            fresh.replay(key, value, None)
        log_agrees(self.player.shard.groups.get(GROUP), fresh.groups.get(GROUP))

    @invariant()
    def counts_agree(self) -> None:
        group = self.player.shard.groups.get(GROUP)
        if not isinstance(group, ClassicGroup):
            return
        members = list(group.members)
        assert group.members.awaiting == sum(m.join_token is not None for m in members)
        assert group.unsynced <= {m.member_id for m in members}
        assert group.pending.isdisjoint(m.member_id for m in members)
        assert sorted(group.members.instances.values()) == sorted(
            m.member_id for m in members if m.instance_id is not None
        )
        assert (group.members.leader_id in group.members) == bool(members)
        assert (group.state is GroupState.EMPTY) == (not members) or group.state.value.startswith(
            "P"
        )

    @invariant()
    def generations_grow(self) -> None:
        group = self.player.shard.groups.get(GROUP)
        if isinstance(group, ClassicGroup):
            assert group.generation >= self.generation
            self.generation = group.generation
        else:
            self.generation = 0


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
