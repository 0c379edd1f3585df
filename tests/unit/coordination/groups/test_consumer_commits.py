"""Which commits and fetches of offsets a consumer group lets pass."""

from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.consumer_clients import Client, World, settle


def two_members() -> tuple[World, Client, Client]:
    """Two members that share four partitions; the first has owned two of them since epoch 2."""
    world = World()
    world.set_topic("alpha", 4)
    first, second = Client(world, "first"), Client(world, "second")
    first.join("alpha")
    second.join("alpha")
    settle(first, second)
    assert (first.epoch, second.epoch) == (3, 3)
    return world, first, second


def check(world: World, member_id: str, epoch: int, **options: bool) -> int:
    transactional = options.get("transactional", False)
    return world.group.check_commit(member_id, None, epoch, transactional=transactional)


def test_a_member_commits_in_its_epoch_only() -> None:
    world, first, _ = two_members()
    assert check(world, "first", first.epoch) == ErrorCode.NONE
    assert check(world, "first", first.epoch - 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert check(world, "first", first.epoch + 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert check(world, "stranger", first.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert check(world, "", -1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_old_transactional_clients_say_nothing_of_members() -> None:
    world, _, _ = two_members()
    assert check(world, "", -1, transactional=True) == ErrorCode.NONE
    assert check(world, "first", 1, transactional=True) == ErrorCode.STALE_MEMBER_EPOCH


def test_what_a_member_holds_since_an_epoch_that_is_over_may_be_committed_late() -> None:
    world, first, _ = two_members()
    alpha = world.id_of("alpha")
    kept = {partition for _, partition in first.owned}
    assert all(world.group.has_held("first", 2, alpha, partition) for partition in kept)
    for partition in range(4):
        if partition not in kept:
            assert not world.group.has_held("first", 2, alpha, partition)
            assert not world.group.has_held("second", 2, alpha, partition), "owned since epoch 3"
    assert not world.group.has_held("first", 1, alpha, min(kept))
    assert not world.group.has_held("first", 3, alpha, min(kept)), "that is no epoch of the past"
    assert not world.group.has_held("first", -1, alpha, min(kept))
    assert not world.group.has_held("stranger", 2, alpha, min(kept))


def test_a_group_without_members_lets_anybody_commit() -> None:
    world, first, second = two_members()
    first.leave()
    second.leave()
    assert check(world, "", -1) == ErrorCode.NONE
    assert check(world, "first", 3) == ErrorCode.UNKNOWN_MEMBER_ID


def test_whoever_says_it_is_a_member_must_know_its_epoch_to_read_offsets() -> None:
    world, first, _ = two_members()
    group = world.group
    assert group.check_offset_fetch(None, -1) == ErrorCode.NONE
    assert group.check_offset_fetch("first", first.epoch) == ErrorCode.NONE
    assert group.check_offset_fetch("first", 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert group.check_offset_fetch("stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_of_topics_that_nobody_wants_may_go() -> None:
    world, first, _ = two_members()
    world.set_topic("orders-eu", 1)
    first.heartbeat(subscribed_topic_names=[], subscribed_topic_regex="orders-.*")
    group = world.group
    assert group.check_offset_delete() == ErrorCode.NONE
    assert group.subscribes_to("alpha")
    assert group.subscribes_to("orders-eu")
    assert not group.subscribes_to("beta")
    assert group.offsets_expire_since(77) == 77
