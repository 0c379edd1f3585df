"""Whatever members do, in whatever order: a partition never has two owners, and in the end every one has one."""

import re
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ottla.coordination.groups.consumer import ConsumerGroup, all_partitions
from ottla.coordination.groups.consumer_gathering import TOGETHER_MS
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World

TOPICS = ("alpha", "beta", "gamma")
SUBSCRIPTIONS = st.lists(st.sampled_from(TOPICS), max_size=3, unique=True)
REFUSED = ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.COORDINATOR_NOT_AVAILABLE
PATTERNS = st.sampled_from(["alpha|beta", ".*a", "gamma", "nothing", ""])


class ConsumerGroupMachine(RuleBasedStateMachine):
    """Members of one group that join, report, fall silent, lose answers, leave and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(group_consumer_max_size=6)
        self.clients: list[Client] = []
        self.names = (f"m{number}" for number in count())

    @initialize(counts=st.lists(st.integers(0, 5), min_size=3, max_size=3))
    def topics(self, counts: list[int]) -> None:
        for name, partitions in zip(TOPICS, counts, strict=True):
            if partitions:
                self.world.set_topic(name, partitions)

    def client(self, data: st.DataObject) -> Client:
        return data.draw(st.sampled_from(self.clients))

    @rule(
        names=SUBSCRIPTIONS,
        assignor=st.sampled_from([None, "range", "uniform"]),
        instance=st.booleans(),
    )
    def new_member(self, names: list[str], assignor: str | None, instance: bool) -> None:
        name = next(self.names)
        client = Client(self.world, name, f"i-{name}" if instance else None)
        code = client.join(*names, server_assignor=assignor)
        assert code in (0, ErrorCode.GROUP_MAX_SIZE_REACHED, *REFUSED)
        if not code:
            self.clients.append(client)

    @rule(data=st.data(), asking=st.lists(SUBSCRIPTIONS, min_size=2, max_size=3))
    def new_members_together(self, data: st.DataObject, asking: list[list[str]]) -> None:
        """Several join at one moment; one of them may be gone before it is told what it gets."""
        newcomers = [Client(self.world, next(self.names)) for _ in asking]
        takes = [new.begin_join(*names) for new, names in zip(newcomers, asking, strict=True)]
        if data.draw(st.booleans()):
            newcomers[0].leave()
        self.world.advance(TOGETHER_MS)
        for client, take in zip(newcomers, takes, strict=True):
            if not take():
                self.clients.append(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), lost=st.booleans(), says=st.booleans())
    def heartbeat(self, data: st.DataObject, lost: bool, says: bool) -> None:
        client = self.client(data)
        if client.epoch == 0:
            client.join(*data.draw(SUBSCRIPTIONS))
        else:
            client.heartbeat(lost=lost, **({} if says else {"topic_partitions": None}))

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        self.client(data).revoke()

    @precondition(lambda self: any(client.epoch for client in self.clients))
    @rule(data=st.data(), names=SUBSCRIPTIONS, pattern=PATTERNS)
    def subscribe(self, data: st.DataObject, names: list[str], pattern: str) -> None:
        client = data.draw(st.sampled_from([c for c in self.clients if c.epoch]))
        client.heartbeat(subscribed_topic_names=names, subscribed_topic_regex=pattern)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        client = self.client(data)
        client.leave()
        self.clients.remove(client)

    @precondition(lambda self: any(client.instance_id for client in self.clients))
    @rule(data=st.data(), names=SUBSCRIPTIONS, pattern=st.sampled_from([None, None, "orders-("]))
    def restart_static_member(
        self, data: st.DataObject, names: list[str], pattern: str | None
    ) -> None:
        client = data.draw(st.sampled_from([c for c in self.clients if c.instance_id]))
        client.leave(-2)
        again = Client(self.world, client.name, client.instance_id)
        again.member_id = f"{client.member_id}'"
        self.clients[self.clients.index(client)] = again
        # A pattern that cannot be read is refused, and its former self has to go in time.
        again.join(*names, pattern=pattern)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def rejoin_with_epoch_zero(self, data: st.DataObject) -> None:
        self.client(data).join(*data.draw(SUBSCRIPTIONS))

    @rule(by_ms=st.sampled_from([10, 2_000, 20_000, 31_000, 50_000]))
    def time_passes(self, by_ms: int) -> None:
        self.world.advance(by_ms)

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(0, 7))
    def topic_changes(self, name: str, partitions: int) -> None:
        before = self.world.image.topics.get(name)
        if before is None or not partitions or partitions > len(before.partitions):
            self.world.set_topic(name, partitions)

    @rule(interval_ms=st.sampled_from([0, 500, 2_000]))
    def assignments_wait(self, interval_ms: int) -> None:
        self.world.set_group(assignment_interval_ms=interval_ms)

    @rule()
    def log_refuses_the_next_records(self) -> None:
        self.world.refusals = 1

    @rule()
    def broker_restarts(self) -> None:
        self.world.restart()

    def group(self) -> ConsumerGroup | None:
        found = self.world.shard.groups.get(GROUP)
        return found if isinstance(found, ConsumerGroup) else None

    @invariant()
    def a_partition_has_one_owner(self) -> None:
        group = self.group()
        if group is None:
            return
        seen: set[object] = set()
        for member in group.members.values():
            mine = all_partitions(member.assigned) | all_partitions(member.pending_revocation)
            assert not mine & seen, "two members own a partition"
            assert all(group.owner(*each) == member.member_id for each in mine)
            seen |= mine

    @invariant()
    def members_read_only_what_the_coordinator_knows(self) -> None:
        group = self.group()
        for client in self.clients:
            member = group.members.get(client.member_id) if group is not None else None
            if member is None or member.epoch == -2:
                continue
            known = all_partitions(member.assigned) | all_partitions(member.pending_revocation)
            assert client.owned <= known, f"{client.name} reads what it does not own"

    @invariant()
    def the_log_says_it_all(self) -> None:
        live, loaded = self.group(), self.world.replayed().groups.get(GROUP)
        if live is None:
            assert loaded is None
            return
        assert isinstance(loaded, ConsumerGroup)
        for name in (
            "epoch",
            "metadata_hash",
            "assignment_epoch",
            "members",
            "target",
            "resolved",
            "instances",
        ):
            assert getattr(live, name) == getattr(loaded, name), name

    def teardown(self) -> None:
        """Everybody lives on and nothing else happens: every partition that somebody wants gets its owner."""
        self.world.refusals = 0
        for _ in range(25):
            for client in self.clients:
                if client.epoch:
                    client.heartbeat()
                    client.revoke()
            self.world.advance(2_500)
        group = self.group()
        if group is None or not group.members:
            return
        assert group.state_name == "Stable"
        names = group.names(group.members.values(), group.resolved)
        topics = [self.world.image.topics[n] for n in names if n in self.world.image.topics]
        expected = {(t.topic_id, p) for t in topics for p in range(len(t.partitions))}
        owned = [each for m in group.members.values() for each in all_partitions(m.assigned)]
        assert sorted(owned) == sorted(expected)
        for member in group.members.values():
            if member.pattern:
                matched = {n for n in self.world.image.topics if re.fullmatch(member.pattern, n)}
                assert group.resolved[member.pattern].topics == matched


ConsumerGroupMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)
TestConsumerGroup = ConsumerGroupMachine.TestCase
