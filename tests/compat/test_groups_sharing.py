"""Consumer groups: partitions are shared exclusively, spare members wait, and whoever is gone is replaced."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions

from tests.support.clients import admin, create_named, create_topic, produce, unique_name
from tests.support.members import (
    CLIENTS,
    AioKafka,
    Confluent,
    KafkaPythonInThread,
    Member,
    overlapping_claims,
    read_all,
    settle,
)

pytestmark = [pytest.mark.compat, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PARTITIONS = 4
Join = Callable[..., Any]


@pytest.fixture
def group() -> str:
    return unique_name("group")


@pytest.fixture
def shared(bootstrap: str) -> str:
    """A topic of four partitions with ten records in each."""
    topic = create_topic(bootstrap, partitions=PARTITIONS)
    records = [{"value": b"%d" % n, "partition": n % PARTITIONS} for n in range(40)]
    produce(bootstrap, topic, records)
    return topic


@pytest.fixture
def join(bootstrap: str, group: str, shared: str) -> Iterator[Join]:
    """Makes members of the test's group; they leave with the test."""
    members: list[Member] = []

    def make(kind: Callable[..., Member], **settings: Any) -> Member:
        members.append(kind(bootstrap, group, shared, **settings))
        return members[-1]

    yield make
    for member in members:
        member.close()


@pytest.mark.parametrize("kind", CLIENTS.values(), ids=CLIENTS)
def test_members_share_and_take_over(join: Join, kind: Callable[..., Member]) -> None:
    first = join(kind)
    settle([first], [4], PARTITIONS)
    second = join(kind)
    settle([first, second], [2, 2], PARTITIONS)
    everything = {(partition, offset) for partition in range(4) for offset in range(10)}
    assert {record[:2] for record in read_all([first, second], 40)} == everything
    first.close()
    settle([second], [4], PARTITIONS)
    assert overlapping_claims([first, second]) == []


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_more_members_than_partitions(join: Join, strategy: str) -> None:
    members = [join(Confluent, assignor=strategy) for _ in range(6)]
    owned = settle(members, [0, 0, 1, 1, 1, 1], PARTITIONS)
    leaver = members.pop(next(n for n, share in enumerate(owned) if share))
    leaver.close()
    settle(members, [0, 1, 1, 1, 1], PARTITIONS)


def test_cooperative_members_keep_what_they_own(join: Join) -> None:
    members = [join(Confluent, assignor="cooperative-sticky")]
    settle(members, [4], PARTITIONS)
    members.append(join(Confluent, assignor="cooperative-sticky"))
    settle(members, [2, 2], PARTITIONS)
    # The first gave up two and was never without the others.
    assert [each for each in members[0].rebalances if each != "+0"] == ["+4", "-2"]


def test_a_paused_member_is_out_and_comes_back(join: Join) -> None:
    sleeper = join(Confluent, max_poll_interval_ms=6000, enable_auto_commit=False)
    other = join(Confluent)
    settle([sleeper, other], [2, 2], PARTITIONS)
    # It does not poll; its heartbeats stop when it is over its interval, and its part moves.
    settle([other], [4], PARTITIONS)
    settle([sleeper, other], [2, 2], PARTITIONS)


def test_new_partitions_are_shared_too(join: Join, bootstrap: str, shared: str) -> None:
    members = [join(Confluent), join(Confluent)]
    settle(members, [2, 2], PARTITIONS)
    client = admin(bootstrap)
    client.create_partitions([NewPartitions(shared, 6)])[shared].result(20)
    settle(members, [3, 3], 6)


def test_a_new_topic_matches_a_pattern(bootstrap: str, group: str) -> None:
    prefix = unique_name("pattern")
    create_named(bootstrap, f"{prefix}-a", 1)
    member = Confluent(bootstrap, group, f"^{prefix}-.*")
    settle([member], [1], 1)
    create_named(bootstrap, f"{prefix}-b", 2)
    produce(bootstrap, f"{prefix}-b", [{"value": b"x", "partition": 1}])
    assert read_all([member], 1)
    member.close()


def test_python_clients_share_one_group(join: Join) -> None:
    members = [join(kind) for kind in (Confluent, KafkaPythonInThread, AioKafka)]
    settle(members, [1, 1, 2], PARTITIONS)
