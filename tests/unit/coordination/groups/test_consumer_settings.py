"""A consumer group follows its own settings: how long its members may be silent, and how often they report."""

from dataclasses import replace

import pytest

from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.consumer_clients import Client, World


def bounded_world() -> World:
    """A broker that lets groups be quick, and is slow itself."""
    world = World(
        group_consumer_min_session_timeout_ms=1_000, group_consumer_min_heartbeat_interval_ms=100
    )
    world.set_topic("t", 2)
    return world


def interval_ms(client: Client) -> int:
    """How often a member is told to report, when it does."""
    assert client.heartbeat() == ErrorCode.NONE
    return client.heartbeat_interval_ms


def test_members_learn_at_their_next_heartbeat() -> None:
    world = bounded_world()
    member = Client(world, "a")
    member.join("t")
    assert interval_ms(member) == 5_000
    world.set_group(session_timeout_ms=2_000, heartbeat_interval_ms=300)
    assert interval_ms(member) == 300
    world.advance(1_999)
    assert list(world.group.members) == ["a"]
    world.advance(1)
    assert not world.group.members


def test_a_group_that_is_new_begins_with_its_own_settings() -> None:
    world = bounded_world()
    world.set_group(session_timeout_ms=1_000, heartbeat_interval_ms=100)
    Client(world, "a").join("t")
    world.advance(1_000)
    assert not world.group.members


def test_without_its_own_settings_it_has_the_brokers_again() -> None:
    world = bounded_world()
    world.set_group(session_timeout_ms=1_000, heartbeat_interval_ms=100)
    member = Client(world, "a")
    member.join("t")
    world.set_group()
    assert interval_ms(member) == 5_000
    world.advance(44_999)
    assert list(world.group.members) == ["a"]
    world.advance(1)
    assert not world.group.members


def test_after_a_restart_members_have_the_groups_session() -> None:
    world = bounded_world()
    Client(world, "a").join("t")
    world.set_group(session_timeout_ms=3_000)
    world.restart()
    world.advance(3_000)
    assert not world.group.members


def test_a_broker_of_narrower_bounds_keeps_to_them() -> None:
    world = World()
    world.set_topic("t", 2)
    world.set_group(session_timeout_ms=1_000, heartbeat_interval_ms=100)
    member = Client(world, "a")
    member.join("t")
    assert interval_ms(member) == 5_000
    world.advance(44_999)
    assert list(world.group.members) == ["a"]


def test_partitions_are_assigned_no_sooner_than_the_group_wants() -> None:
    world = bounded_world()
    world.set_group(assignment_interval_ms=2_000)
    first, second = Client(world, "a"), Client(world, "b")
    first.join("t")
    assert len(first.owned) == 2
    assert second.join("t") == ErrorCode.NONE
    world.advance(1_990)
    first.heartbeat()
    second.heartbeat()
    assert (len(first.owned), len(second.owned), world.group.state_name) == (2, 0, "Assigning")
    world.advance(10)
    for client in (first, second, first, second):
        client.heartbeat()
        client.revoke()
    assert (len(first.owned), len(second.owned), world.group.state_name) == (1, 1, "Stable")


def test_an_interval_for_all_groups_may_change_while_they_run() -> None:
    world = bounded_world()
    first, second, third = (Client(world, name) for name in "abc")
    first.join("t")
    world.shard.configure(replace(world.config, group_consumer_assignment_interval_ms=2_000))
    second.join("t")
    assert world.group.state_name == "Assigning"
    world.shard.configure(world.config)
    third.join("t")
    for client in (first, second, third) * 2:
        client.heartbeat()
        client.revoke()
    assert world.group.state_name == "Stable"
    world.set_group(assignment_interval_ms=3_000)
    world.shard.configure(replace(world.config, group_consumer_assignment_interval_ms=2_000))
    assert world.group.own_config.consumer_assignment_interval_ms == 3_000, "it has its own"


def test_an_assignment_that_is_yet_to_come_delays_none() -> None:
    world = bounded_world()
    world.set_group(assignment_interval_ms=2_000)
    first, second = Client(world, "a"), Client(world, "b")
    first.join("t")
    world.set_clock(-3_600_000)
    second.join("t")
    for client in (first, second, first, second):
        client.heartbeat()
        client.revoke()
    assert (len(first.owned), len(second.owned), world.group.state_name) == (1, 1, "Stable")


@pytest.mark.parametrize("by_ms", [3_600_000, -3_600_000])
def test_a_clock_that_is_set_ends_no_session_and_lengthens_none(by_ms: int) -> None:
    world = bounded_world()
    world.set_group(session_timeout_ms=2_000, heartbeat_interval_ms=300)
    Client(world, "a").join("t")
    lives = Client(world, "b")
    lives.join("t")
    world.advance(500)
    world.set_clock(by_ms)
    lives.heartbeat()
    world.advance(1_490)
    assert set(world.group.members) == {"a", "b"}
    world.advance(10)
    assert set(world.group.members) == {"b"}
    world.set_topic("t", 3)
    world.advance(400)
    lives.heartbeat()
    assert len(lives.owned) == 3
