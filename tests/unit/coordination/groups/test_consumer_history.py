"""The coordinator remembers who shall own what in a consumer group, and why each epoch began."""

from ottla.protocol.consumer_protocol import decode_assignment
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World, settle
from tests.unit.coordination.groups.old_clients import OldClient


def test_assignments_are_remembered_and_learned_from_the_log() -> None:
    world = World()
    world.set_topic("alpha", 4)
    first, second = Client(world, "first"), Client(world, "second")
    first.join("alpha")
    second.join("alpha")
    settle(first, second)
    for shard in (world.shard, world.replayed()):
        *_, last = shard.history.generations(GROUP)
        assert (last.generation, last.protocol) == (3, "uniform")
        owned = {
            owner.member_id: [
                (each.topic, each.partitions)
                for each in decode_assignment(owner.assignment).partitions
            ]
            for owner in last.owners
        }
        assert owned == {"first": [("alpha", [0, 1])], "second": [("alpha", [2, 3])]}
    reasons = [e.detail for e in world.shard.history.events(GROUP) if e.what == "rebalance"]
    assert reasons == ["first joined", "second joined"]


def test_the_past_survives_the_change_to_the_consumer_protocol_and_back() -> None:
    world = World()
    world.set_topic("alpha", 2)
    old, modern = OldClient(world, "old"), Client(world, "modern")
    old.join("alpha")
    world.advance(3_000)
    old.follow("alpha", 2)
    modern.join("alpha")
    modern.leave()
    events = world.shard.history.events(GROUP)
    assert [(e.what, e.detail) for e in events if e.what == "converted"] == [
        ("converted", "consumer"),
        ("converted", "classic"),
    ]
    assert (events[0].what, events[0].member_id) == ("joined", old.member_id)
    protocols = [each.protocol for each in world.shard.history.generations(GROUP)]
    assert protocols[0] == protocols[-1] == "range"
    assert "uniform" in protocols
