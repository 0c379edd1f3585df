"""The consumer protocol (KIP-848): the coordinator assigns, and clients of both protocols may share a group."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions

from tests.compat.conftest import QUICK
from tests.support.broker import OttlaBroker
from tests.support.clients import admin, create_named, create_topic, produce, unique_name
from tests.support.java import run_java
from tests.support.members import Confluent, Member, read_all, settle
from tests.support.modern_members import Modern, ModernChild, ModernJava
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

PARTITIONS = 4
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
Join = Callable[..., Any]


@pytest.fixture
def group() -> str:
    return unique_name("group")


@pytest.fixture
def shared(quick: str) -> str:
    """A topic of four partitions with ten records in each."""
    topic = create_topic(quick, partitions=PARTITIONS)
    produce(quick, topic, [{"value": b"%d" % n, "partition": n % PARTITIONS} for n in range(40)])
    return topic


@pytest.fixture
def join(quick: str, group: str, shared: str) -> Iterator[Join]:
    """Makes members of the test's group; they leave with the test."""
    members: list[Member] = []

    def make(kind: Callable[..., Member], **settings: Any) -> Member:
        members.append(kind(quick, group, settings.pop("topic", shared), **settings))
        return members[-1]

    yield make
    for member in members:
        member.close()


def described(quick: str, group: str) -> Any:
    """The group as an administrator sees it."""
    client = admin(quick)
    return client.describe_consumer_groups([group])[group].result(20)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_share_and_take_over(join: Join, assignor: str) -> None:
    first = join(Modern, group_remote_assignor=assignor)
    settle([first], [4], PARTITIONS)
    second = join(Modern, group_remote_assignor=assignor)
    settle([first, second], [2, 2], PARTITIONS)
    everything = {(partition, offset) for partition in range(4) for offset in range(10)}
    assert {record[:2] for record in read_all([first, second], 40)} == everything
    first.close()
    settle([second], [4], PARTITIONS)


def test_members_keep_what_they_own(join: Join) -> None:
    members = [join(Modern)]
    settle(members, [4], PARTITIONS)
    members.append(join(Modern))
    settle(members, [2, 2], PARTITIONS)
    # The first gave up two and was never without the others.
    assert [each for each in members[0].rebalances if each[1:] != "0"] == ["+4", "-2"]


def test_more_members_than_partitions(join: Join) -> None:
    members = [join(Modern) for _ in range(6)]
    owned = settle(members, [0, 0, 1, 1, 1, 1], PARTITIONS)
    leaver = members.pop(next(n for n, share in enumerate(owned) if share))
    leaver.close()
    settle(members, [0, 1, 1, 1, 1], PARTITIONS)


def test_a_member_that_is_killed_is_replaced(
    join: Join, quick: str, group: str, shared: str
) -> None:
    survivor, victim = join(Modern), ModernChild(quick, group, shared)
    settle([survivor, victim], [2, 2], PARTITIONS)
    victim.kill()
    settle([survivor], [4], PARTITIONS)


def test_a_member_that_stops_polling_is_out_and_comes_back(join: Join) -> None:
    sleeper = join(Modern, max_poll_interval_ms=4000, enable_auto_commit=False)
    other = join(Modern)
    settle([sleeper, other], [2, 2], PARTITIONS)
    settle([other], [4], PARTITIONS)
    settle([sleeper, other], [2, 2], PARTITIONS)


def test_new_partitions_are_shared_too(join: Join, quick: str, shared: str) -> None:
    members = [join(Modern), join(Modern)]
    settle(members, [2, 2], PARTITIONS)
    client = admin(quick)
    client.create_partitions([NewPartitions(shared, 6)])[shared].result(20)
    settle(members, [3, 3], 6)


def test_a_new_topic_matches_a_pattern(join: Join, quick: str) -> None:
    prefix = unique_name("pattern")
    create_named(quick, f"{prefix}-a", 1)
    member = join(Modern, topic=f"^{prefix}-.*")
    settle([member], [1], 1)
    create_named(quick, f"{prefix}-b", 2)
    produce(quick, f"{prefix}-b", [{"value": b"x", "partition": 1}])
    assert read_all([member], 1)


def test_a_static_member_that_restarts_disturbs_nobody(join: Join) -> None:
    static, other = join(Modern, group_instance_id="one"), join(Modern)
    settle([static, other], [2, 2], PARTITIONS)
    before, owned = list(other.rebalances), static.owned()
    static.close()
    again = join(Modern, group_instance_id="one")
    settle([again, other], [2, 2], PARTITIONS)
    assert again.owned() == owned
    assert other.rebalances == before


def test_commits_are_kept_and_read_on_from(join: Join, quick: str, group: str, shared: str) -> None:
    first = join(Modern, enable_auto_commit=False)
    read_all([first], 40)
    first.client.commit(
        offsets=[TopicPartition(shared, n, 7) for n in range(4)], asynchronous=False
    )
    first.close()
    second = join(Modern)
    read = read_all([second], 12)
    assert {offset for _, offset, _ in read} == {7, 8, 9}
    assert described(quick, group).state.name == "STABLE"


def test_a_group_moves_to_the_consumer_protocol_and_back(
    join: Join, quick: str, group: str
) -> None:
    old = [join(Confluent), join(Confluent)]
    settle(old, [2, 2], PARTITIONS)
    new = join(Modern)
    settle([*old, new], [1, 1, 2], PARTITIONS)
    assert described(quick, group).type.name == "CONSUMER"
    gone = old.pop()
    gone.close()
    settle([*old, new], [2, 2], PARTITIONS)
    new.close()
    settle(old, [4], PARTITIONS)
    assert described(quick, group).type.name == "CLASSIC"
    # What the others had read they committed as they went, so nothing is missing and nothing comes twice.
    everybody = (gone, new, *old)

    def all_is_read() -> bool:
        """Who owns a partition last may still have to fetch it."""
        old[0].poll()
        return sum(len(member.records) for member in everybody) >= 4 * 10

    wait_for(all_is_read, "all records to be read")
    read = sorted(record[:2] for member in everybody for record in member.records)
    assert read == [(partition, offset) for partition in range(4) for offset in range(10)]


@pytest.mark.java
def test_java_and_librdkafka_share_a_group(join: Join, quick: str, group: str) -> None:
    requires("java", "javac", "maven")
    members = [join(ModernJava), join(Modern)]
    settle(members, [2, 2], PARTITIONS)
    state = run_java(GROUPS, "--describe", "--group", group, "--state", "--bootstrap-server", quick)
    assert "uniform" in state, state
    assert "Stable" in state, state
    who = run_java(
        GROUPS, "--describe", "--group", group, "--members", "--verbose",
        "--bootstrap-server", quick,
    )  # fmt: skip
    assert who.count(f"\n{group} ") == 2, who
    members[0].kill()
    settle(members[1:], [4], PARTITIONS)


@pytest.mark.java
def test_the_console_consumer_reads_everything(quick: str, group: str, shared: str) -> None:
    requires("java", "maven")
    output = run_java(
        CONSOLE_CONSUMER, "--bootstrap-server", quick, "--topic", shared, "--group", group,
        "--from-beginning", "--max-messages", "40", "--timeout-ms", "20000",
        "--consumer-property", "group.protocol=consumer",
    )  # fmt: skip
    assert {str(n) for n in range(40)} <= set(output.split())
    assert group in run_java(GROUPS, "--list", "--type", "consumer", "--bootstrap-server", quick)


def test_members_go_on_when_the_broker_comes_back(
    own_broker: Callable[..., OttlaBroker], group: str
) -> None:
    broker = own_broker({**QUICK, "group.consumer.session.timeout.ms": "10000",
                         "group.consumer.max.session.timeout.ms": "10000"})  # fmt: skip
    topic = create_topic(broker.bootstrap, partitions=PARTITIONS)
    members = [Modern(broker.bootstrap, group, topic) for _ in range(2)]
    owned = settle(members, [2, 2], PARTITIONS)
    broker.kill()
    broker.start()
    produce(broker.bootstrap, topic, [{"value": b"x", "partition": n} for n in range(PARTITIONS)])
    assert len(read_all(members, PARTITIONS)) == PARTITIONS
    assert settle(members, [2, 2], PARTITIONS) == owned
    for member in members:
        member.close()
