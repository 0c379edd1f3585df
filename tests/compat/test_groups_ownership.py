"""Whatever befalls members, a partition has one owner in each generation, and who was its owner has no say any more."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from tests.support.clients import admin, create_topic, produce, unique_name
from tests.support.member_processes import Child, Java, MemberProcess
from tests.support.members import Confluent, Member, overlapping_claims, read_all, settle
from tests.support.modern_members import Modern, ModernChild, ModernJava
from tests.support.ownership import (
    held_twice,
    owned_twice,
    written_generations,
    written_holdings,
)
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PARTITIONS = 4
SESSION_MS = 2000
Join = Callable[..., Any]
JAVA, MODERN_JAVA = (
    pytest.param(kind, marks=pytest.mark.java, id=kind.__name__.lower())
    for kind in (Java, ModernJava)
)

# What a member is told that has been replaced, in the words of its client: by the broker, or by the client itself
# when it has heard of it already.
REFUSALS = {
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH",
    "_ASSIGNMENT_LOST",
    "UnknownMemberIdError",
    "CommitFailedError",
    "CommitFailedException",
}


@pytest.fixture
def group() -> str:
    return unique_name("ownership")


@pytest.fixture
def shared(quick: str) -> str:
    """A topic of four partitions with ten records in each."""
    topic = create_topic(quick, partitions=PARTITIONS)
    ten_more_each(quick, topic)
    return topic


@pytest.fixture
def join(quick: str, group: str, shared: str) -> Iterator[Join]:
    """Makes members of the test's group, in processes of their own; they end with the test."""
    members: list[Any] = []

    def make(kind: Callable[..., Member] | str, **settings: Any) -> Member:
        arguments = (quick, group, shared)
        member = (
            Child(kind, *arguments, **settings)
            if isinstance(kind, str)
            else kind(*arguments, **settings)
        )
        members.append(member)
        return member

    yield make
    for member in reversed(members):
        member.kill() if isinstance(member, MemberProcess) else member.close()


def ten_more_each(bootstrap: str, topic: str) -> None:
    produce(
        bootstrap, topic, [{"value": b"%d" % n, "partition": n % PARTITIONS} for n in range(40)]
    )


def committed(bootstrap: str, group: str, topic: str) -> list[int]:
    """The committed offset of each partition."""
    asked = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    client = admin(bootstrap)
    found = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, asked)])
    return [each.offset for each in found[group].result(20).topic_partitions]


def size_of(bootstrap: str, group: str) -> int:
    """How many members the coordinator counts; none before there is one."""
    client = admin(bootstrap)
    try:
        return len(client.describe_consumer_groups([group])[group].result(5).members)
    except (KafkaException, TimeoutError):
        return 0


def befall(members: list[Any], quick: str, group: str, shared: str) -> None:
    """One owner is killed, another paused past its session until it comes back; all is read nevertheless."""
    spare = [0] * (len(members) - PARTITIONS)
    wait_for(lambda: size_of(quick, group) == len(members), "all to join", 30)
    owned = settle(members, [*spare, 1, 1, 1, 1], PARTITIONS)
    victim, sleeper = [member for member, share in zip(members, owned, strict=True) if share][:2]
    victim.kill()
    sleeper.pause()
    awake = [member for member in members if member not in (victim, sleeper)]
    settle(awake, [*spare[2:], 1, 1, 1, 1], PARTITIONS)
    ten_more_each(quick, shared)
    sleeper.resume()
    settle([*awake, sleeper], [*spare[1:], 1, 1, 1, 1], PARTITIONS)
    read_all(members, 80)


def assert_one_owner_in_each_generation(members: list[Any], quick: str, group: str) -> None:
    """In a classic group: what members were told is what was written, in the generation that they take it for."""
    assert all(member.claims for member in members)
    assert overlapping_claims(members) == []
    generations = written_generations(quick, group)
    assert owned_twice(generations) == []
    told = {claim for member in members for claim in member.claims}
    written = {(each, frozenset(share)) for each in generations for share in generations[each]}
    assert told <= written


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_a_mixed_group_loses_nothing_and_owns_nothing_twice(
    join: Join, quick: str, group: str, shared: str, assignor: str
) -> None:
    kinds = ["confluent", "kafka-python", "aiokafka"] * 2
    members = [join(kind, assignor=assignor, session_ms=SESSION_MS) for kind in kinds]
    befall(members, quick, group, shared)
    assert_one_owner_in_each_generation(members, quick, group)


@pytest.mark.parametrize("kind", ["kafka-python", "aiokafka", JAVA])
def test_eager_members_that_are_sticky_keep_what_they_had(
    join: Join, quick: str, group: str, kind: Any
) -> None:
    if kind is Java:
        requires("java", "javac", "maven")
    members = [join(kind, assignor="sticky")]
    settle(members, [4], PARTITIONS)
    before: list[set[int]] = []
    for shares in ([2, 2], [1, 1, 2]):
        members.append(join(kind, assignor="sticky"))
        after = settle(members, shares, PARTITIONS)
        assert all(now <= had for had, now in zip(before, after[:-1], strict=False))
        before = after
    members[0].close()
    after = settle(members[1:], [2, 2], PARTITIONS)
    assert all(had <= now for had, now in zip(before[1:], after, strict=True))
    assert_one_owner_in_each_generation(members, quick, group)


@pytest.mark.java
def test_java_shares_with_the_others(join: Join, quick: str, group: str, shared: str) -> None:
    requires("java", "javac", "maven")
    members = [join(Java, session_ms=SESSION_MS) for _ in range(2)]
    settle(members, [2, 2], PARTITIONS)
    kinds = ["confluent", "kafka-python", "aiokafka", "confluent"]
    members += [join(kind, session_ms=SESSION_MS) for kind in kinds]
    befall(members, quick, group, shared)
    assert_one_owner_in_each_generation(members, quick, group)


@pytest.mark.java
def test_the_coordinator_assigns_nothing_twice(
    join: Join, quick: str, group: str, shared: str
) -> None:
    requires("java", "javac", "maven")
    members = [join(ModernJava) for _ in range(2)]
    settle(members, [2, 2], PARTITIONS)
    members += [join(ModernChild) for _ in range(4)]
    befall(members, quick, group, shared)
    written = list(written_holdings(quick, group))
    assert [held_twice(holdings) for holdings in written if held_twice(holdings)] == []
    # That says something: all six have held something or nothing, and each partition has passed from one to another.
    assert len(written[-1]) >= len(members)
    for partition in set().union(*written[-1].values()):
        holders = {name for each in written for name in each if partition in each[name]}
        assert len(holders) > 1


@pytest.mark.parametrize(
    "kind", ["confluent", "kafka-python", "aiokafka", ModernChild, JAVA, MODERN_JAVA]
)
def test_a_former_owner_commits_nothing(
    join: Join, quick: str, group: str, shared: str, kind: Any
) -> None:
    if kind in (Java, ModernJava):
        requires("java", "javac", "maven")
    is_modern = kind in (ModernChild, ModernJava)
    settings = {"enable_auto_commit": False} | ({} if is_modern else {"session_ms": SESSION_MS})
    former = join(kind, **settings)
    settle([former], [4], PARTITIONS)
    read_all([former], 40)
    # Between two polls it is stopped for too long; when it goes on it knows nothing of its successor.
    former.hold()
    former.pause()
    successor = join(Modern if is_modern else Confluent, **settings)
    settle([successor], [4], PARTITIONS)
    read_all([successor], 40)
    assert successor.commit(dict.fromkeys(range(PARTITIONS), 10)) == ""
    former.resume()
    assert former.commit(dict.fromkeys(range(PARTITIONS), 3)) in REFUSALS
    assert committed(quick, group, shared) == [10] * PARTITIONS
    former.go_on()
    settle([former, successor], [2, 2], PARTITIONS)


def test_two_groups_of_several_members_each_read_everything(quick: str, shared: str) -> None:
    groups = [unique_name("one"), unique_name("other")]
    members = {name: [Confluent(quick, name, shared) for _ in range(2)] for name in groups}
    for name in groups:
        settle(members[name], [2, 2], PARTITIONS)
    for name in groups:
        assert len(read_all(members[name], 40)) == 40
        for member in members[name]:
            member.close()
