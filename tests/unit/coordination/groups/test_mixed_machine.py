"""Members of both protocols in one group, which moves from one to the other and back: never two owners."""

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer import ConsumerGroup, all_partitions
from ottla.protocol.consumer_protocol import decode_assignment
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World
from tests.unit.coordination.groups.old_clients import OldClient
from tests.unit.coordination.groups.transcripts import log_agrees

PARTITIONS = 5


class MixedGroupMachine(RuleBasedStateMachine):
    """New and old clients that come and go; old ones lead a group of their own when they are alone."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(group_initial_rebalance_delay_ms=0)
        self.world.set_topic("alpha", PARTITIONS)
        self.new: list[Client] = []
        self.old: dict[str, OldClient] = {}
        self.names = (f"m{number}" for number in count())

    @rule()
    def new_joins(self) -> None:
        client = Client(self.world, next(self.names))
        if not client.join("alpha"):
            self.new.append(client)

    @precondition(lambda self: self.new)
    @rule(data=st.data(), revokes=st.booleans())
    def new_reports(self, data: st.DataObject, revokes: bool) -> None:
        client = data.draw(st.sampled_from(self.new))
        if revokes:
            client.revoke()
        if client.epoch == 0:
            client.join("alpha")
        else:
            client.heartbeat()

    @precondition(lambda self: self.new)
    @rule(data=st.data())
    def new_leaves(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.new))
        client.leave()
        self.new.remove(client)

    @rule()
    def old_joins(self) -> None:
        name = next(self.names)
        self.old[name] = OldClient(self.world, name)
        self.old[name].join("alpha")

    @precondition(lambda self: self.old)
    @rule(data=st.data(), what=st.sampled_from(["next", "next", "join", "heartbeat", "leave"]))
    def old_acts(self, data: st.DataObject, what: str) -> None:
        old = self.old[data.draw(st.sampled_from(sorted(self.old)))]
        if what == "next":
            old.follow("alpha", PARTITIONS)
        elif what == "join":
            old.join("alpha")
        elif what == "heartbeat":
            old.heartbeat()
        else:
            old.leave()
            del self.old[old.name]

    @rule(interval_ms=st.sampled_from([0, 500, 2_000]))
    def assignments_wait(self, interval_ms: int) -> None:
        self.world.set_group(assignment_interval_ms=interval_ms)

    @rule(times=st.integers(1, 2))
    def log_refuses_the_next_records(self, times: int) -> None:
        self.world.refusals = times

    @rule(by_ms=st.sampled_from([1, 4_000, 11_000]))
    def time_passes(self, by_ms: int) -> None:
        self.world.advance(by_ms)

    @invariant()
    def a_partition_has_one_owner(self) -> None:
        group = self.world.shard.groups.get(GROUP)
        if not isinstance(group, ConsumerGroup):
            return
        seen: set[object] = set()
        for member in group.members.values():
            mine = all_partitions(member.assigned) | all_partitions(member.pending_revocation)
            assert not mine & seen
            seen |= mine

    @invariant()
    def the_log_says_it_all(self) -> None:
        live = self.world.shard.groups.get(GROUP)
        loaded = self.world.replayed().groups.get(GROUP)
        if isinstance(live, ConsumerGroup):
            assert isinstance(loaded, ConsumerGroup)
            for name in ("epoch", "assignment_epoch", "members", "target"):
                assert getattr(live, name) == getattr(loaded, name), name
        else:
            log_agrees(live, loaded)

    def teardown(self) -> None:
        """Everybody does what the coordinator tells it: the group settles, whatever kind it is.

        Whoever left when the log refused it is out when its session is over.
        """
        self.world.refusals = 0
        for _ in range(60):
            for old in self.old.values():
                old.follow("alpha", PARTITIONS)
            for client in self.new:
                if client.epoch == 0:
                    client.join("alpha")
                client.revoke()
                client.heartbeat()
            self.world.advance(1_000)
        group = self.world.shard.groups.get(GROUP)
        if isinstance(group, ClassicGroup) and len(group.members):
            assert group.state_name == "Stable"
            given = [decode_assignment(member.assignment).partitions for member in group.members]
            owned = [p for parts in given for each in parts for p in each.partitions]
            assert len(owned) == len(set(owned))
        elif isinstance(group, ConsumerGroup) and group.members:
            assert group.state_name == "Stable"
            owned = [p for m in group.members.values() for ps in m.assigned.values() for p in ps]
            assert sorted(owned) == list(range(PARTITIONS))


MixedGroupMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestMixedGroup = MixedGroupMachine.TestCase
