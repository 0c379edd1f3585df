"""Heartbeats that are wrong in themselves are refused as Kafka refuses them."""

from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.consumer_clients import GROUP, World

FIRST = {
    "group_id": GROUP,
    "member_id": "m",
    "member_epoch": 0,
    "rebalance_timeout_ms": 1000,
    "subscribed_topic_names": ["alpha"],
    "topic_partitions": [],
}


def ask(world: World, version: int = 1, **fields: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest(**{**FIRST, **fields})
    caller = Caller("client", "/host", version, "made-up-id")
    return world.ask(world.shard.consumer_heartbeat, request, caller)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "", "member_epoch": -1}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": [TopicPartitions(partitions=[0])]}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"member_epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_request_that_cannot_be_is_refused(fields: dict[str, Any], code: int) -> None:
    world = World()
    answer = ask(world, **fields)
    assert isinstance(answer, ApiError)
    assert answer.code == code
    assert answer.message
    assert not world.log


def test_version_0_lets_the_coordinator_make_up_the_id() -> None:
    assert ask(World(), version=0, member_id="").member_id == "made-up-id"


def test_a_member_without_any_topic_is_a_member() -> None:
    world = World()
    assert ask(world, subscribed_topic_names=[]).member_epoch == 1
    assert world.group.state_name == "Stable"
    assert world.replayed().groups[GROUP].state_name == "Stable"


def test_a_full_request_is_answered_in_full() -> None:
    """A client that is not sure what got through says everything, and is told everything."""
    world = World()
    world.set_topic("alpha", 1)
    epoch = ask(world).member_epoch
    owned = [TopicPartitions(topic_id=world.id_of("alpha"), partitions=[0])]
    short = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m", member_epoch=epoch)
    caller = Caller("client", "/host", 1)
    assert world.ask(world.shard.consumer_heartbeat, short, caller).assignment is None
    full = ask(world, member_epoch=epoch, topic_partitions=owned)
    assert full.assignment.topic_partitions == owned
    assert full.heartbeat_interval_ms == 5000


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    world = World()
    world.set_topic("alpha", 1)
    epoch = ask(world).member_epoch
    written = len(world.log)
    ask(world, member_epoch=epoch)
    assert len(world.log) == written
