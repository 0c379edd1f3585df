"""ottla's own consumer as a member of groups, of both protocols, against the broker under test."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Self, TypeVar

import pytest
from confluent_kafka.admin import NewPartitions

import ottla
from ottla import AsyncConsumer, Consumer, OffsetAndMetadata, Producer, TopicPartition
from tests.support.clients import TIMEOUT_S as CLIENT_TIMEOUT_S
from tests.support.clients import admin, consumer, create_named, create_topic, unique_name
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 40
QUICK = {"heartbeat_interval_ms": 100, "session_timeout_ms": 6000}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range", **QUICK},
    "roundrobin": {"partition_assignment_strategy": "roundrobin", **QUICK},
    "sticky": {"partition_assignment_strategy": "sticky", **QUICK},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky", **QUICK},
    "consumer": {"group_protocol": "consumer"},
}


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings for each way of sharing partitions out."""
    return PROTOCOLS[request.param]


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic of four partitions."""
    return create_topic(bootstrap, partitions=4)


class Log:
    """What the listeners of a member were told, and what is theirs as far as they know."""

    def __init__(self) -> None:
        self.events: list[tuple[str, list[int]]] = []
        self.owned: set[TopicPartition] = set()

    @property
    def listeners(self) -> dict[str, Any]:
        return {"on_assigned": self.assigned, "on_revoked": self.revoked, "on_lost": self.lost}

    def assigned(self, partitions: list[TopicPartition]) -> None:
        self.owned |= set(partitions)
        self.events.append(("assigned", [p.partition for p in partitions]))

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self.owned -= set(partitions)
        self.events.append(("revoked", [p.partition for p in partitions]))

    def lost(self, partitions: list[TopicPartition]) -> None:
        self.owned -= set(partitions)
        self.events.append(("lost", [p.partition for p in partitions]))


class Group:
    """Members of one group, polled together."""

    def __init__(self, bootstrap: str, topic: str | re.Pattern[str], **settings: Any) -> None:
        self.settings = {
            "bootstrap_servers": bootstrap,
            "group_id": unique_name("group"),
            "auto_offset_reset": "earliest",
            **settings,
        }
        self.topic = topic
        self.members: list[tuple[AsyncConsumer, Log]] = []
        self.values: list[bytes] = []

    async def join(self, **settings: Any) -> AsyncConsumer:
        member, log = AsyncConsumer({}, **self.settings, **settings), Log()
        topics = self.topic if isinstance(self.topic, re.Pattern) else [self.topic]
        await member.subscribe(topics, **log.listeners)
        self.members.append((member, log))
        return member

    async def leave(self, member: AsyncConsumer) -> None:
        self.members = [(each, log) for each, log in self.members if each is not member]
        await member.close()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            for records in await asyncio.gather(*(m.poll(0.05) for m, _ in self.members)):
                self.values += [record.value for record in records]

    def shares(self) -> list[int]:
        owned = [member.assignment() for member, _ in self.members]
        assert [log.owned for _, log in self.members] == owned
        assert len(frozenset().union(*owned)) == sum(map(len, owned)), "one owner for a partition"
        return sorted(map(len, owned))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        for member, _ in self.members:
            await member.close()


def grow(bootstrap: str, topic: str, partitions: int) -> None:
    client = admin(bootstrap)
    client.create_partitions([NewPartitions(topic, partitions)])[topic].result(CLIENT_TIMEOUT_S)


async def poll_for_ever(member: AsyncConsumer) -> None:
    while True:
        await member.poll(0.1)


def write(bootstrap: str, topic: str, count: int, begin: int = 0) -> set[bytes]:
    with Producer(bootstrap_servers=bootstrap) as producer:
        values = [b"%d" % n for n in range(begin, begin + count)]
        for n, value in enumerate(values):
            producer.send(topic, value, partition=n % 4)
    return set(values)


def test_members_share_partitions_and_each_record_is_read_once(
    bootstrap: str, topic: str, protocol: dict[str, Any]
) -> None:
    expected = write(bootstrap, topic, 200)

    async def story() -> list[bytes]:
        async with Group(bootstrap, topic, **protocol) as group:
            first = await group.join()
            await group.until(lambda: len(group.values) == 200)
            await group.join()
            await group.until(lambda: group.shares() == [2, 2])
            expected.update(write(bootstrap, topic, 200, begin=200))
            await group.until(lambda: len(group.values) >= 400)
            await group.leave(first)
            await group.until(lambda: group.shares() == [4])
            expected.update(write(bootstrap, topic, 200, begin=400))
            await group.until(lambda: len(group.values) >= 600)
            return group.values

    values = run(story())
    assert (len(values), set(values)) == (600, expected)


def test_a_cooperative_member_keeps_what_it_need_not_give(bootstrap: str, topic: str) -> None:
    async def story() -> list[tuple[str, list[int]]]:
        async with Group(bootstrap, topic, **PROTOCOLS["cooperative-sticky"]) as group:
            await group.join()
            await group.until(lambda: group.shares() == [4])
            await group.join()
            await group.until(lambda: group.shares() == [2, 2])
            log = group.members[0][1]
            return log.events

    events = [event for event in run(story()) if event[1]]
    assert [(kind, len(numbers)) for kind, numbers in events] == [
        ("assigned", 4),
        ("revoked", 2),
        ("revoked", 2),
    ]


def test_a_group_of_ottla_and_librdkafka_shares_by_range(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with Group(bootstrap, topic, **PROTOCOLS["range"]) as group:
            other = consumer(
                bootstrap,
                group_id=group.settings["group_id"],
                enable_partition_eof=False,
                partition_assignment_strategy="range",
                heartbeat_interval_ms=100,
                session_timeout_ms=6000,
            )
            other.subscribe([topic])
            await group.join()

            def shared() -> bool:
                other.poll(0.01)
                theirs = {(p.topic, p.partition) for p in other.assignment()}
                ours = set(group.members[0][0].assignment())
                return len(theirs) == len(ours) == 2 and not theirs & ours

            await group.until(shared)
            other.close()

    run(story())


def test_a_static_member_gets_its_partitions_back(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with Group(bootstrap, topic, **PROTOCOLS["range"]) as group:
            first = await group.join(group_instance_id="one")
            await group.join(group_instance_id="two")
            await group.until(lambda: group.shares() == [2, 2])
            before, generation = first.assignment(), first.group_metadata().generation
            await group.leave(first)
            again = await group.join(group_instance_id="one")
            await group.until(lambda: len(again.assignment()) == 2)
            assert again.assignment() == before
            assert again.group_metadata().generation == generation
            assert "revoked" not in [kind for kind, _ in group.members[0][1].events]

    run(story())


def test_a_second_member_of_the_same_instance_fences_the_first(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with Group(bootstrap, topic, **PROTOCOLS["range"]) as group:
            first = await group.join(group_instance_id="one")
            await group.until(lambda: group.shares() == [4])
            log = group.members.pop()[1]
            second = await group.join(group_instance_id="one")
            await group.until(lambda: len(second.assignment()) == 4)
            with pytest.raises(ottla.ApiError, match=r"group.instance.id"):
                await poll_for_ever(first)
            assert log.owned
            await first.close()

    run(story())


@pytest.mark.parametrize("kind", ["range", "consumer"])
def test_a_member_that_does_not_poll_loses_its_partitions(
    bootstrap: str, topic: str, kind: str
) -> None:
    async def story() -> list[tuple[str, list[int]]]:
        async with Group(bootstrap, topic, **PROTOCOLS[kind]) as group:
            slow = await group.join(max_poll_interval_ms=600)
            await group.until(lambda: group.shares() == [4])
            _, log = group.members.pop()
            busy = await group.join()
            await group.until(lambda: len(busy.assignment()) == 4)
            await slow.poll(0)
            assert log.owned == set()
            group.members.append((slow, log))
            await group.until(lambda: group.shares() == [2, 2])
            return log.events

    assert ("lost", [0, 1, 2, 3]) in run(story())


@pytest.mark.parametrize("kind", ["cooperative-sticky", "consumer"])
def test_a_pattern_finds_topics_that_come_later(bootstrap: str, kind: str) -> None:
    prefix = unique_name("pattern")
    create_named(bootstrap, f"{prefix}.one", 1)

    async def story() -> None:
        pattern = re.compile(re.escape(prefix) + r"\..*")
        async with Group(bootstrap, pattern, metadata_max_age_ms=200, **PROTOCOLS[kind]) as group:
            await group.join()
            await group.until(lambda: group.shares() == [1])
            await asyncio.to_thread(create_named, bootstrap, f"{prefix}.two", 2)
            await group.until(lambda: group.shares() == [3])

    run(story())


@pytest.mark.parametrize("kind", ["range", "consumer"])
def test_new_partitions_are_read(bootstrap: str, kind: str) -> None:
    topic = create_topic(bootstrap, partitions=1)

    async def story() -> None:
        async with Group(bootstrap, topic, metadata_max_age_ms=200, **PROTOCOLS[kind]) as group:
            await group.join()
            await group.until(lambda: group.shares() == [1])
            await asyncio.to_thread(grow, bootstrap, topic, 3)
            await group.until(lambda: group.shares() == [3])

    run(story())


@pytest.mark.parametrize("kind", ["range", "consumer"])
def test_a_topic_may_be_subscribed_to_before_it_exists(bootstrap: str, kind: str) -> None:
    topic = unique_name("later")

    async def story() -> None:
        async with Group(
            bootstrap, topic, allow_auto_create_topics=False, **PROTOCOLS[kind]
        ) as group:
            member = await group.join()
            await member.poll(0.3)
            await asyncio.to_thread(create_named, bootstrap, topic, 2)
            await group.until(lambda: group.shares() == [2])

    run(story())


@pytest.fixture
def members_of(bootstrap: str) -> Iterator[Callable[[str], int]]:
    """Counts the members of a group."""
    with ottla.Admin({"bootstrap.servers": bootstrap}) as client:

        def count(group: str) -> int:
            described = client.describe_groups([group])[group]
            return 0 if isinstance(described, ottla.ApiError) else len(described.members)

        yield count


@pytest.mark.parametrize("kind", ["range", "consumer"])
def test_closing_commits_and_leaves_at_once(
    bootstrap: str, topic: str, kind: str, members_of: Callable[[str], int]
) -> None:
    write(bootstrap, topic, 8)
    group = unique_name("group")
    settings = {"bootstrap_servers": bootstrap, "group_id": group, "auto_offset_reset": "earliest"}
    with Consumer({}, **settings, **PROTOCOLS[kind]) as member:
        member.subscribe([topic])
        seen = 0
        while seen < 8:
            seen += len(member.poll(5))
        assert members_of(group) == 1
    assert members_of(group) == 0
    with Consumer({}, **settings, **PROTOCOLS[kind]) as member:
        partitions = [TopicPartition(topic, n) for n in range(4)]
        assert member.committed(partitions) == dict.fromkeys(
            partitions, OffsetAndMetadata(2, "", 0)
        )


def test_a_listener_may_use_the_consumer(bootstrap: str, topic: str) -> None:
    """In programs without a loop it is called in the thread that polls."""
    import threading

    write(bootstrap, topic, 40)
    told: list[Any] = []
    settings: dict[str, Any] = {"enable_auto_commit": False, "auto_offset_reset": "earliest"}
    with Consumer(bootstrap_servers=bootstrap, group_id=unique_name("g"), **settings) as member:

        def begin_in_the_middle(partitions: list[TopicPartition]) -> None:
            told.append(threading.current_thread())
            for partition in partitions:
                member.seek(partition, 5)

        def commit(partitions: list[TopicPartition]) -> None:
            member.commit()
            told.append(member.committed(partitions))

        member.subscribe([topic], on_assigned=begin_in_the_middle, on_revoked=commit)
        offsets = []
        while len(offsets) < 20:
            offsets += [record.offset for record in member.poll(5)]
        member.unsubscribe()
    assert sorted(offsets) == sorted([5, 6, 7, 8, 9] * 4)
    assert told[0] is threading.current_thread()
    assert set(told[1].values()) == {OffsetAndMetadata(10, "", 0)}


def test_what_is_read_is_committed_by_and_by(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, 40)
    settings = {"auto_offset_reset": "earliest", "auto_commit_interval_ms": 50}
    with Consumer(bootstrap_servers=bootstrap, group_id=unique_name("g"), **settings) as member:
        member.subscribe([topic])
        partitions = [TopicPartition(topic, n) for n in range(4)]

        def committed() -> bool:
            member.poll(0.05)
            stored = member.committed(partitions).values()
            return [each.offset for each in stored if each is not None] == [10] * 4

        wait_for(committed, "the offsets to be committed", TIMEOUT_S)


def test_an_error_in_a_listener_is_logged_and_stops_nothing(
    bootstrap: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(bootstrap, topic, 4)

    def refuse(partitions: list[TopicPartition]) -> None:
        raise ValueError("not today")

    settings = {"group_id": unique_name("g"), "auto_offset_reset": "earliest"}
    with Consumer(bootstrap_servers=bootstrap, **settings) as member:
        member.subscribe([topic], on_assigned=refuse, on_revoked=refuse)
        wait_for(lambda: member.poll(0.2), "records", TIMEOUT_S)
    assert caplog.text.count("ValueError: not today") == 2
    assert "a rebalance listener failed" in caplog.text
