"""Floods of groups, and assignments that make no sense: whoever has nothing to do with it notices nothing."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from tests.support.broker import OttlaBroker, cpu_seconds
from tests.support.bystander import Bystander
from tests.support.clients import create_topic, unique_name
from tests.support.group_requests import (
    IN_FLIGHT,
    assignment,
    commit,
    heartbeat,
    join,
    subscription,
    sync,
)
from tests.support.waiting import wait_for
from tests.support.wire import Wire

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
COORDINATOR_IS_COMING = {14, 15, 16}
NONE, UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC, UNKNOWN_MEMBER_ID = 0, -1, 3, 25
REBALANCE_IN_PROGRESS = 27
MIB = 1024 * 1024
TOO_LARGE = b"x" * (MIB + 1000)
Member = Callable[[bytes], tuple[str, int, str]]
Start = Callable[..., OttlaBroker]


@pytest.fixture
def member(wire: Wire) -> Member:
    """Makes groups of one member that has joined: (group, generation, member id)."""
    wait_for_coordinators(wire)

    def make(metadata: bytes) -> tuple[str, int, str]:
        group = unique_name("odd")
        joined = wire.ask(join(group, metadata))
        assert joined.error_code == NONE
        return group, joined.generation_id, joined.member_id

    return make


def wait_for_coordinators(wire: Wire) -> None:
    """The topic of groups is made when somebody asks for the first time."""

    def all_answer() -> bool:
        wire.ask(FindCoordinatorRequest[1](key="group", key_type=0))
        codes = {wire.ask(heartbeat(f"group-{n}", 1, "nobody")).error_code for n in range(50)}
        return not codes & COORDINATOR_IS_COMING

    wait_for(all_answer, "coordinators of all groups", 20)


class Flood(NamedTuple):
    """What came of one: how long a bystander waited in the middle, and what the flood itself took."""

    median_wait_s: float
    batch_s: float
    cpu_s_of_quarters: list[float]


def flood(broker: OttlaBroker, kind: str, topic: str, count: int) -> Flood:
    """Requests of one kind from another process, beside a bystander."""
    command = [sys.executable, "-m", "tests.support.group_requests", kind]
    with (
        subprocess.Popen(
            [*command, broker.bootstrap, topic, str(count)], stdout=subprocess.PIPE
        ) as flooding,
        Bystander(broker.bootstrap) as bystander,
    ):
        assert flooding.stdout is not None
        seen = [(time.monotonic(), cpu_seconds(broker.pid)) for _ in flooding.stdout]
        assert flooding.wait(60) == 0
    assert set(bystander.errors) == {NONE}
    return Flood(
        statistics.median(bystander.seconds),
        (seen[-1][0] - seen[0][0]) * IN_FLIGHT / count,
        [after[1] - before[1] for before, after in pairwise(seen)],
    )


@pytest.mark.alone
def test_floods_slow_nobody_and_ten_thousand_groups_are_kept(own_broker: Start) -> None:
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap)
    with Wire(broker.bootstrap) as wire:
        wait_for_coordinators(wire)
    before = broker.rss_bytes
    for kind, count in [("joins", 4_000), ("members", 4_000), ("commits", 10_000)]:
        found = flood(broker, kind, topic, count)
        # A bystander waits for what has arrived before it, not for the flood; a busy machine holds up both.
        assert found.median_wait_s < 3 * found.batch_s, (kind, found)
        # What is there already does not make the next more expensive.
        assert found.cpu_s_of_quarters[-1] < 3 * found.cpu_s_of_quarters[0] + 0.05, (kind, found)
        assert sum(found.cpu_s_of_quarters) / count < 0.0005, (kind, found)
    assert broker.rss_bytes - before < 100 * MIB
    broker.kill()
    broker.start()
    with Wire(broker.bootstrap) as wire:
        wait_for_coordinators(wire)
        listed = wire.ask(ListGroupsRequest[4](states_filter=["Empty"]))
        kept = {group.group_id for group in listed.groups}
        assert {f"of-none-{number}" for number in range(10_000)} <= kept


@pytest.mark.parametrize(("wanted", "given"), [(TOO_LARGE, b""), (b"", TOO_LARGE)])
def test_what_no_record_could_hold_is_refused(
    member: Member, wire: Wire, wanted: bytes, given: bytes
) -> None:
    who = member(subscription("t", wanted))
    assert wire.ask(sync(*who, assignment("t", 0, given))).error_code == UNKNOWN_SERVER_ERROR
    assert wire.ask(heartbeat(*who)).error_code == REBALANCE_IN_PROGRESS
    # It may come to its senses.
    group, _, member_id = who
    again = wire.ask(join(group, subscription("t"), member_id=member_id))
    assert wire.ask(sync(group, again.generation_id, member_id, b"")).error_code == NONE


def test_an_assignment_of_what_does_not_exist_is_passed_on_and_comes_to_nothing(
    member: Member, wire: Wire
) -> None:
    who = member(subscription("no-such-topic"))
    given = assignment("no-such-topic", 7)
    assert wire.ask(sync(*who, given)).assignment == given
    group, generation, member_id = who
    refused = wire.ask(commit(group, "no-such-topic", 1, generation, member_id))
    assert refused.topics[0].partitions[0].error_code == UNKNOWN_TOPIC
    assert wire.ask(heartbeat(*who)).error_code == NONE


def test_bytes_that_are_no_assignment_are_the_members_affair(
    ottla_only: None, bootstrap: str, member: Member, wire: Wire
) -> None:
    # Kafka does not answer the join of a consumer whose subscription it cannot read.
    who = member(b"\xff\xff no subscription")
    assert wire.ask(sync(*who, b"\xff no assignment")).assignment == b"\xff no assignment"
    group, generation, member_id = who
    topic = create_topic(bootstrap)
    kept = wire.ask(commit(group, topic, 1, generation, member_id))
    assert kept.topics[0].partitions[0].error_code == NONE
    strange = wire.ask(commit(group, topic, 9, generation, "a stranger"))
    assert strange.topics[0].partitions[0].error_code == UNKNOWN_MEMBER_ID
