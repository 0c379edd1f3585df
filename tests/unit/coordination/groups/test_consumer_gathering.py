"""Members of a consumer group that start together are assigned together, and nobody has to give anything up."""

from collections.abc import Sequence
from typing import Any

from ottla.base.errors import ApiError
from ottla.coordination.decision import Decision
from ottla.coordination.groups import arrivals
from ottla.coordination.groups.consumer_gathering import (
    ALONE_MS,
    LONGEST_MS,
    TOGETHER_MS,
    TOLD_AT_ONCE,
)
from ottla.coordination.groups.consumer_heartbeat import fence
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World, settle

REFUSED = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

Answers = dict[str, list[Any]]


def asked(world: World, member_id: str, epoch: int = 0) -> tuple[Decision, list[Any]]:
    """What the shard decides on a heartbeat, and where the answer will be."""
    told: list[Any] = []
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    caller = Caller(member_id, "/host", 1)
    return world.shard.consumer_heartbeat(request, caller, told.append, world.now_ms), told


def ask(world: World, member_id: str, epoch: int = 0) -> list[Any]:
    decision, told = asked(world, member_id, epoch)
    world.carry_out(decision)
    return told


def start(world: World, members: Sequence[str]) -> Answers:
    """All join at the same moment."""
    return {member_id: ask(world, member_id) for member_id in members}


def given(told: list[Any]) -> list[int]:
    [answer] = told
    assert not isinstance(answer, ApiError), answer
    return [p for topic in answer.assignment.topic_partitions for p in topic.partitions]


def code(told: list[Any]) -> int:
    [answer] = told
    return answer.code if isinstance(answer, ApiError) else answer.error_code


def world_with(partitions: int) -> World:
    world = World()
    world.set_topic("t", partitions)
    return world


def test_those_who_start_together_get_their_shares_with_the_first_answer() -> None:
    world = world_with(6)
    answers = start(world, ["a", "b", "c"])
    assert not any(answers.values())
    world.advance(TOGETHER_MS)
    assert sorted(p for told in answers.values() for p in given(told)) == list(range(6))
    assert {len(given(told)) for told in answers.values()} == {2}
    assert {told[0].member_epoch for told in answers.values()} == {world.group.epoch}
    assert world.group.state_name == "Stable"


def test_one_that_is_alone_waits_less() -> None:
    world = world_with(2)
    told = ask(world, "a")
    assert not told
    world.advance(ALONE_MS)
    assert given(told) == [0, 1]


def test_where_nobody_asks_any_more_they_need_not_wait_out_their_time() -> None:
    world = world_with(6)
    answers = start(world, ["a", "b", "c"])
    assert world.shard.waits_for_quiet()
    world.carry_out(world.shard.quiet(world.now_ms))
    assert sorted(p for told in answers.values() for p in given(told)) == list(range(6))
    assert not world.shard.waits_for_quiet()


def test_one_that_is_on_its_way_is_waited_for() -> None:
    world = world_with(4)
    for connection in (1, 2):
        world.shard.arrivals.announced(GROUP, connection, world.now_ms)
    first = ask(world, "a")
    assert not world.shard.waits_for_quiet()
    world.advance(10 * TOGETHER_MS)
    assert not first
    second = ask(world, "b")
    assert world.shard.waits_for_quiet()
    world.carry_out(world.shard.quiet(world.now_ms))
    assert sorted(given(first) + given(second)) == [0, 1, 2, 3]
    assert world.group.state_name == "Stable"


def test_one_that_asked_the_way_and_does_not_come_is_not_waited_for_long() -> None:
    world = world_with(4)
    for connection in (1, 2):
        world.shard.arrivals.announced(GROUP, connection, world.now_ms)
    told = ask(world, "a")
    world.advance(arrivals.LONGEST_MS)
    assert given(told) == [0, 1, 2, 3]


def test_those_who_come_together_begin_one_epoch() -> None:
    world = world_with(6)
    start(world, ["a"])
    world.advance(ALONE_MS)
    before = world.group.epoch
    start(world, ["b", "c", "d"])
    world.advance(TOGETHER_MS)
    assert world.group.epoch == before + 1
    reasons = [e.detail for e in world.shard.history.events(GROUP) if e.what == "rebalance"]
    assert reasons == ["a joined", "3 members joined"]


def test_nobody_waits_for_ever_while_others_keep_coming() -> None:
    world = world_with(200)
    first = ask(world, "first")
    for number in range(LONGEST_MS // ALONE_MS):
        world.advance(ALONE_MS - 1)
        ask(world, f"m{number}")
        world.advance(1)
    assert given(first)


def test_who_comes_later_waits_for_what_the_others_give_up() -> None:
    world = world_with(4)
    answers = start(world, ["a", "b"])
    world.advance(TOGETHER_MS)
    later = start(world, ["c", "d"])
    world.advance(TOGETHER_MS)
    assert [given(told) for told in later.values()] == [[], []]
    assert answers["a"][0].member_epoch < later["c"][0].member_epoch == later["d"][0].member_epoch


def test_one_of_the_others_that_reports_meanwhile_is_led_on_at_once() -> None:
    world = world_with(2)
    [first] = start(world, ["a"]).values()
    world.advance(ALONE_MS)
    second = ask(world, "b")
    [told] = ask(world, "a", epoch=first[0].member_epoch)
    assert len(told.assignment.topic_partitions[0].partitions) == 1
    world.advance(TOGETHER_MS)
    assert len(given(second)) <= 1


def test_a_large_group_is_told_in_parts_and_is_of_one_epoch() -> None:
    count = 2 * TOLD_AT_ONCE + 5
    world = world_with(count)
    answers = start(world, [f"m{number}" for number in range(count)])
    world.now_ms += TOGETHER_MS
    told = 0
    while told < count:
        world.carry_out(world.shard.tick(world.now_ms))
        before, told = told, sum(map(bool, answers.values()))
        assert 0 < told - before <= TOLD_AT_ONCE
    assert sorted(p for each in answers.values() for p in given(each)) == list(range(count))
    assert world.group.state_name == "Stable"


def test_one_that_asks_again_while_it_waits_is_told_twice_the_same() -> None:
    world = world_with(2)
    first, again = ask(world, "a"), ask(world, "a")
    world.advance(TOGETHER_MS)
    assert given(first) == given(again) == [0, 1]


def test_one_that_leaves_while_it_waits_takes_nothing_with_it() -> None:
    world = world_with(2)
    answers = start(world, ["a", "b"])
    assert code(ask(world, "a", epoch=-1)) == 0
    assert code(answers["a"]) == ErrorCode.UNKNOWN_MEMBER_ID
    world.advance(TOGETHER_MS)
    assert given(answers["b"]) == [0, 1]


def test_one_that_is_removed_while_it_waits_is_told_before_the_group_is_empty() -> None:
    world = world_with(2)
    told = ask(world, "a")
    world.carry_out(fence(world.group, [world.group.members["a"]], (), world.now_ms))
    assert not world.group.is_empty
    assert world.shard.parked()
    world.advance(ALONE_MS)
    assert code(told) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group.is_empty


def test_after_a_crash_they_join_anew() -> None:
    world = world_with(2)
    start(world, ["a", "b"])
    world.restart()
    assert world.group.state_name == "Assigning"
    answers = {member_id: ask(world, member_id) for member_id in ("a", "b")}
    world.advance(TOGETHER_MS)
    assert sorted(p for told in answers.values() for p in given(told)) == [0, 1]


def test_a_member_that_the_log_refuses_leaves_no_group_behind() -> None:
    world = world_with(2)
    decision, told = asked(world, "a")
    assert decision.undo is not None
    world.carry_out(decision.undo(REFUSED, world.now_ms))
    assert code(told) == REFUSED.code
    assert GROUP not in world.shard.groups


def test_a_later_member_that_the_log_refuses_is_told_alone() -> None:
    world = world_with(2)
    first = ask(world, "a")
    decision, second = asked(world, "b")
    assert decision.undo is not None
    world.carry_out(decision.undo(REFUSED, world.now_ms))
    assert code(second) == REFUSED.code
    world.advance(TOGETHER_MS)
    assert given(first) == [0, 1]


def test_a_static_member_that_comes_back_for_another_topic_gets_it() -> None:
    world = world_with(1)
    other, before = Client(world, "other", "i-other"), Client(world, "before", "i")
    for client in (other, before):
        client.join()
    before.leave(-2)
    after = Client(world, "after", "i")
    after.join("t")
    settle(other, after)
    assert after.reads() == {("t", 0)}


def test_a_static_member_that_comes_back_before_it_was_told_of_its_share_gets_it() -> None:
    world = world_with(1)
    before, after = Client(world, "before", "i"), Client(world, "after", "i")
    before.begin_join("t")
    before.leave(-2)
    after.join("t")
    settle(after)
    assert after.reads() == {("t", 0)}


def test_who_asks_for_more_while_it_waits_gets_it() -> None:
    world = world_with(1)
    client = Client(world, "client")
    client.begin_join()
    take = client.begin_join("t")
    world.advance(TOGETHER_MS)
    assert take() == 0
    settle(client)
    assert client.reads() == {("t", 0)}
