"""What a running broker tells of its groups and transactions at /metrics."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import commit, commit_as, delete, join, new_group
from tests.unit.broker.handlers.transacting import Transactor
from tests.unit.node.test_metrics import Watched

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}


@pytest.fixture
def watched(own_broker: Callable[..., OttlaBroker]) -> Iterator[Watched]:
    return Watched(own_broker, **SETTINGS)


@pytest.fixture
def client(watched: Watched) -> Iterator[Client]:
    with closing(Client(watched.broker.bootstrap)) as connection:
        yield connection


def test_groups_members_and_offsets_are_measured(watched: Watched, client: Client) -> None:
    topic, group = client.new_topic(2), new_group(client)
    member = join(client, group, topic)
    commit_as(client, group, topic, member, offset=3)
    commit(client, new_group(client), topic, {0: 1, 1: 1})
    for row, expected in {
        'ottla_groups{type="classic",state="Stable"}': 1,
        'ottla_groups{type="classic",state="Empty"}': 1,
        'ottla_group_members{type="classic"}': 1,
        'ottla_group_member_changes_total{what="joined"}': 1,
        "ottla_group_rebalances_total": 1,
        "ottla_group_offsets": 3,
        "ottla_group_offset_commits_total": 3,
        'ottla_coordinator_load_seconds_count{topic="__consumer_offsets"}': 2,
    }.items():
        assert watched.value(row) == expected, row
    leaving = [MemberIdentity(member_id=member.member_id)]
    client.ask(LeaveGroupRequest(group_id=group, members=leaving))
    delete(client, group, topic, [0])
    assert watched.value('ottla_group_member_changes_total{what="left"}') == 1
    assert watched.value("ottla_group_offsets_deleted_total") == 1
    assert watched.value("ottla_group_offsets") == 2


def test_transactions_are_measured(watched: Watched, client: Client) -> None:
    topic, producer = client.new_topic(), Transactor(client)
    for committed in (True, True, False):
        producer.send(topic)
        producer.finish(committed)
    producer.send(topic)
    assert watched.value('ottla_transactions{state="Ongoing"}') == 1
    Transactor(client, producer.id)  # takes over, and the transaction of the first is aborted
    assert producer.end(True).error_code
    for row, expected in {
        'ottla_transactions_ended_total{outcome="committed"}': 2,
        'ottla_transactions_ended_total{outcome="aborted"}': 2,
        "ottla_transactional_producers_fenced_total": 1,
        'ottla_transaction_refusals_total{error="PRODUCER_FENCED"}': 1,
        'ottla_transactions{state="Empty"}': 1,
    }.items():
        assert watched.value(row) == expected, row
