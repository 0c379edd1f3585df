"""Which commits and fetches of offsets a consumer group lets pass."""

from functools import partial

from ottla.base.errors import ApiError
from ottla.coordination.decision import Transactional
from ottla.coordination.groups.offset_requests import Commit, commit
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World, settle
from tests.unit.coordination.groups.offset_stories import at
from tests.unit.coordination.groups.old_clients import OldClient


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


def check(
    world: World,
    member_id: str,
    epoch: int,
    *,
    transactional: bool = False,
    knows_epochs: bool = True,
) -> int:
    held = Transactional(0, 0) if transactional else None
    version = 9 if knows_epochs else 8
    return world.group.check_commit(
        Commit(GROUP, (), version, member_id, None, epoch, transactional=held)
    )


def test_a_member_commits_in_its_epoch_only() -> None:
    world, first, _ = two_members()
    assert check(world, "first", first.epoch) == ErrorCode.NONE
    assert check(world, "first", first.epoch - 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert check(world, "first", first.epoch + 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert check(world, "stranger", first.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert check(world, "", -1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_commits_with_requests_that_know_of_member_epochs_only() -> None:
    """As in Kafka 4.3, whatever the epoch: version 9 of OffsetCommit is the first."""
    world, first, _ = two_members()
    kept = [TopicToCommit("alpha", world.id_of("alpha"), [at(min(p for _, p in first.owned), 5)])]
    for version, epoch, code in (
        (8, first.epoch, ErrorCode.UNSUPPORTED_VERSION),
        (8, first.epoch - 1, ErrorCode.UNSUPPORTED_VERSION),
        (9, first.epoch, ErrorCode.NONE),
        (9, first.epoch - 1, ErrorCode.NONE),
    ):
        asked = Commit(GROUP, kept, version, member_id="first", generation=epoch)
        answer = world.ask(partial(commit, world.shard, asked))
        assert (answer.code if isinstance(answer, ApiError) else answer) == (code or [0])
    assert check(world, "stranger", 3, knows_epochs=False) == ErrorCode.UNKNOWN_MEMBER_ID
    assert check(world, "first", first.epoch, transactional=True, knows_epochs=False) == 0


def test_a_member_that_speaks_the_classic_protocol_commits_as_ever() -> None:
    world, _, _ = two_members()
    old = OldClient(world, "old")
    old.join("alpha")
    assert check(world, old.member_id, old.generation, knows_epochs=False) == ErrorCode.NONE
    wrong = check(world, old.member_id, old.generation + 1, knows_epochs=False)
    assert wrong == ErrorCode.ILLEGAL_GENERATION


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


def test_offsets_go_a_retention_after_their_commit_but_not_while_somebody_subscribes() -> None:
    """As in Kafka 4.3: a consumer group that becomes empty does not begin to count anew."""
    world = World(offsets_retention_minutes=60)
    world.restart()  # which begins to look for offsets that expire
    world.set_topic("alpha", 1)
    member = Client(world, "m")
    member.join("alpha")
    kept = [TopicToCommit("alpha", world.id_of("alpha"), [at(0, 5)])]
    asked = Commit(GROUP, kept, 9, member_id="m", generation=member.epoch)
    assert world.ask(partial(commit, world.shard, asked)) == [0]
    for _ in range(3 * 60):
        world.advance(30_000)
        member.heartbeat()
    assert world.shard.offsets.find(GROUP, "alpha", 0), "it is subscribed to"
    member.leave()
    assert world.shard.offsets.find(GROUP, "alpha", 0)
    world.advance(world.config.offsets_retention_check_interval_ms)
    assert not world.shard.offsets.find(GROUP, "alpha", 0)
    assert GROUP not in world.shard.groups
