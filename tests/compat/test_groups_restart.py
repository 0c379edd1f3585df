"""Groups outlive the broker: members, generations and offsets are there again after a restart or a crash."""

from collections.abc import Callable

import pytest

from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic, produce, unique_name
from tests.support.members import Confluent, read_all, settle

pytestmark = pytest.mark.compat

PARTITIONS = 4
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
Start = Callable[..., OttlaBroker]


def restart_cleanly(broker: OttlaBroker) -> None:
    broker.restart()


def crash(broker: OttlaBroker) -> None:
    broker.kill()
    broker.start()


@pytest.mark.parametrize("again", [restart_cleanly, crash])
def test_members_go_on_as_if_nothing_had_happened(
    own_broker: Start, again: Callable[[OttlaBroker], None]
) -> None:
    broker = own_broker(SETTINGS)
    topic, group = create_topic(broker.bootstrap, partitions=PARTITIONS), unique_name("outlives")
    members = [Confluent(broker.bootstrap, group, topic, session_ms=20_000) for _ in "ab"]
    before = settle(members, [2, 2], PARTITIONS)
    rebalances = [list(member.rebalances) for member in members]
    again(broker)
    produce(broker.bootstrap, topic, [{"value": b"v", "partition": n % 4} for n in range(40)])
    assert len(read_all(members, 40)) == 40
    assert [member.owned() for member in members] == before
    assert [member.rebalances for member in members] == rebalances
    for member in members:
        member.close()


@pytest.mark.parametrize("again", [restart_cleanly, crash])
def test_a_new_member_goes_on_from_the_committed_offsets(
    own_broker: Start, again: Callable[[OttlaBroker], None]
) -> None:
    broker = own_broker(SETTINGS)
    topic, group = create_topic(broker.bootstrap), unique_name("outlives")
    produce(broker.bootstrap, topic, [b"%d" % n for n in range(10)])
    member = Confluent(broker.bootstrap, group, topic)
    read_all([member], 10)
    member.close()
    again(broker)
    produce(broker.bootstrap, topic, [b"10"])
    member = Confluent(broker.bootstrap, group, topic)
    assert read_all([member], 1) == [(0, 10, b"10")]
    member.close()


def test_a_member_that_is_gone_after_the_crash_is_missed(own_broker: Start) -> None:
    broker = own_broker(SETTINGS)
    topic, group = create_topic(broker.bootstrap, partitions=PARTITIONS), unique_name("missed")
    first = Confluent(broker.bootstrap, group, topic)
    second = Confluent(broker.bootstrap, group, topic)
    settle([first, second], [2, 2], PARTITIONS)
    broker.kill()
    second.close()
    broker.start()
    settle([first], [4], PARTITIONS)
    first.close()
