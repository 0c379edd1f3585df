"""Partitions move to other brokers, go back, and never lose their last replica in sync on the way."""

import uuid

import pytest

from ottla.cluster import znodes
from ottla.cluster.image import (
    NO_LEADER,
    BrokerImage,
    Changes,
    Image,
    PartitionImage,
    TopicImage,
    advance,
)
from ottla.cluster.tree import Set
from ottla.controller.reassignment import Move, decide_completions, decide_moves
from ottla.protocol.errors import ErrorCode

TOPIC = uuid.UUID(int=7)
Ids = tuple[int, ...]


def cluster(replicas: Ids, isr: Ids, leader: int, adding: Ids = (), removing: Ids = ()) -> Image:
    lives = dict.fromkeys(isr, 0)
    partition = PartitionImage(0, replicas, isr, leader, 4, 9, 100, adding, removing, lives)
    brokers = {each: BrokerImage(each, (), None, 10) for each in range(1, 6)}
    topic = TopicImage("t", TOPIC, (partition,), 3)
    return advance(Image(), Changes(topics={"t": topic}, brokers=brokers))[0]


def written(ops: object) -> dict[str, object]:
    """What is written: of the topic (replicas, adding, removing), of the state (leader, epoch, isr)."""
    found: dict[str, object] = {}
    for op in ops:  # type: ignore[attr-defined]
        assert isinstance(op, Set)
        if op.path.endswith("/state"):
            state = znodes.decode_state(op.path, op.data)
            found["state"] = (state.leader, state.leader_epoch, state.isr)
            assert op.version == 9
        else:
            node = znodes.decode_topic(op.path, op.data)
            found["topic"] = (node.replicas[0], node.adding.get(0, ()), node.removing.get(0, ()))
            assert op.version == 3
    return found


def move(image: Image, *target: int, cancel: bool = False, may_change: bool = True) -> object:
    """What is written, or the error."""
    wanted = Move("t", 0, None if cancel else target)
    decision = decide_moves(image, [wanted], 2, may_change_factor=may_change)
    [result] = decision.results
    return written(decision.ops) if result.error is ErrorCode.NONE else result.error


def test_a_move_adds_the_new_replicas_and_keeps_the_old_ones() -> None:
    image = cluster((1, 2), (1, 2), 1)
    assert move(image, 2, 3) == {"topic": ((2, 3, 1), (3,), (1,))}


def test_it_ends_when_all_of_the_new_ones_are_in_sync() -> None:
    waiting = cluster((2, 3, 1), (1, 2), 1, (3,), (1,))
    assert decide_completions(waiting, 2).ops == []
    ready = cluster((2, 3, 1), (1, 2, 3), 1, (3,), (1,))
    assert written(decide_completions(ready, 2).ops) == {
        "topic": ((2, 3), (), ()),
        "state": (2, 5, (2, 3)),
    }


def test_a_leader_that_stays_begins_another_epoch_without_those_who_left() -> None:
    ready = cluster((2, 3, 1), (1, 2, 3), 2, (3,), (1,))
    assert written(decide_completions(ready, 2).ops)["state"] == (2, 5, (2, 3))


def test_a_leader_that_only_gets_more_followers_goes_on_in_its_epoch() -> None:
    ready = cluster((1, 2), (1, 2), 1, (2,))
    assert written(decide_completions(ready, 2).ops) == {"topic": ((1, 2), (), ())}


def test_a_cancelled_move_goes_back() -> None:
    moving = cluster((2, 3, 1), (1, 2, 3), 1, (3,), (1,))
    assert move(moving, cancel=True) == {"topic": ((2, 1), (), ()), "state": (1, 5, (1, 2))}


def test_a_second_move_overtakes_the_first() -> None:
    moving = cluster((2, 3, 1), (1, 2), 1, (3,), (1,))
    assert move(moving, 4, 5) == {
        "topic": ((4, 5, 2, 1), (4, 5), (2, 1)),
        "state": (1, 5, (1, 2)),
    }


def test_a_move_of_a_partition_that_nobody_leads_can_be_cancelled() -> None:
    nobody = cluster((3, 9), (9,), NO_LEADER, (3,), (9,))
    assert move(nobody, cancel=True) == {"topic": ((9,), (), ())}


def test_nobody_leaves_while_it_is_unknown_what_the_others_hold() -> None:
    ready = cluster((2, 3, 1), (1, 2, 3), 2, (3,), (1,))
    restarted = advance(ready, Changes(brokers={3: BrokerImage(3, (), None, 200, life=1)}))[0]
    assert decide_completions(restarted, 2).ops == []
    assert move(restarted, cancel=True) == ErrorCode.LEADER_NOT_AVAILABLE


def test_more_and_fewer_replicas() -> None:
    assert move(cluster((1,), (1,), 1), 1, 2, 3) == {"topic": ((1, 2, 3), (2, 3), ())}
    fewer = move(cluster((1, 2, 3), (1, 2, 3), 1), 1)
    assert fewer == {"topic": ((1, 2, 3), (), (2, 3))}


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ((), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 2, 3), ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
    ids=["none", "twice", "unknown broker", "another number"],
)
def test_impossible_moves_are_refused(target: Ids, error: ErrorCode) -> None:
    assert move(cluster((1, 2), (1, 2), 1), *target, may_change=False) == error


def test_what_does_not_move_cannot_be_cancelled() -> None:
    assert move(cluster((1, 2), (1, 2), 1), cancel=True) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_move_back_never_leaves_nobody_in_sync() -> None:
    only_the_new_one = cluster((3, 1), (3,), 3, (3,), (1,))
    error = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert move(only_the_new_one, cancel=True) == error
