"""The clock of a broker is set an hour forward, and back: nobody is given up for it, and nobody who dies is kept."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer.group import JoinGroupRequest
from kafka.protocol.metadata import FindCoordinatorRequest

import ottla
from tests.faults.clocks import MistimedBroker
from tests.faults.mistimed import set_clock
from tests.support.clients import create_topic
from tests.support.group_requests import assignment, subscription, sync
from tests.support.waiting import wait_for
from tests.support.wire import Wire

HOUR_S = 3_600
SESSION_S, SHORT_SESSION_S = 60, 1
QUICK = {
    # All groups, and all transactional ids, have one machine: what one of them sets off finds all that is due.
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MistimedBroker]:
    clock = tmp_path / "clock"
    set_clock(clock, 0)
    with MistimedBroker(clock, tmp_path / "data", QUICK, tmp_path / "log") as broker:
        yield broker


def join(broker: MistimedBroker, group: str, session_s: int) -> None:
    """A classic member joins, and is never heard of again."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription("t"))
    request = JoinGroupRequest[3](
        group_id=group,
        session_timeout_ms=session_s * 1_000,
        rebalance_timeout_ms=session_s * 1_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    with Wire(broker.bootstrap) as wire:
        wire.ask(FindCoordinatorRequest[1](key=group, key_type=0))
        member = wait_for(lambda: told(wire, request), "the coordinator")
        given = sync(group, member.generation_id, member.member_id, assignment("t", 0))
        assert wire.ask(given).error_code == 0


def told(wire: Wire, request: ApiMessage) -> Any:
    """The answer, if it is not that the coordinator is being loaded."""
    answer = wire.ask(request)
    return None if answer.error_code else answer


def test_a_clock_that_is_set_ends_nobody_and_keeps_nobody(broker: MistimedBroker) -> None:
    settings = {"bootstrap.servers": broker.bootstrap}
    transactional = settings | {"transactional.id": "t", "transaction.timeout.ms": 60_000}
    with ottla.Admin(settings) as admin, ottla.Producer(transactional) as producer:
        topic = create_topic(broker.bootstrap)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"a").result(10)
        join(broker, "silent", SESSION_S)

        def members(group: str) -> int:
            return len(admin.describe_groups([group])[group].members)

        def is_empty(group: str) -> bool:
            return not members(group)

        for ahead_s in (HOUR_S, -HOUR_S):
            set_clock(broker.clock, ahead_s)
            group = f"dies-at-{ahead_s}"
            join(broker, group, SHORT_SESSION_S)
            assert members(group) == 1
            wait_for(partial(is_empty, group), "the end of a session")
            assert members("silent") == 1
        producer.commit_transaction()
    assert broker.log.count("clock was set") >= 2
