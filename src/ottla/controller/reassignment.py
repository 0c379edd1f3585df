"""Pure: moving partitions to other replicas (KIP-455), in two steps.

First the new replicas are added to the old ones and begin to fetch; once all of them are in sync, the old ones go. What
a topic's node says of `adding` and `removing` is all that is remembered, so any controller can go on. A cancelled move,
and one that is overtaken by another, goes back to the replicas of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from ottla.base.errors import ApiError
from ottla.cluster import znodes
from ottla.cluster.image import NO_LEADER, Image, PartitionImage, TopicImage
from ottla.cluster.tree import Op, Set
from ottla.controller.requests import Decision
from ottla.controller.states import current_lives, fences, is_settled
from ottla.protocol.errors import ErrorCode


class Move(NamedTuple):
    """Where a partition is to be; None: where it was before it began to move."""

    topic: str
    partition: int
    target: tuple[int, ...] | None


class MoveResult(NamedTuple):
    """Whether a move has begun, or was cancelled."""

    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_moves(
    image: Image, moves: Sequence[Move], controller_epoch: int, *, may_change_factor: bool
) -> Decision[MoveResult]:
    """Begin or cancel moves; one that is refused leaves the others alone."""
    results: list[MoveResult] = []
    changed: list[tuple[TopicImage, PartitionImage, PartitionImage]] = []
    for move in moves:
        try:
            changed.append(_begin(image, move, may_change_factor))
        except ApiError as refused:
            code = ErrorCode(refused.code)
            results.append(MoveResult(move.topic, move.partition, code, refused.message or None))
        else:
            results.append(MoveResult(move.topic, move.partition))
    return Decision(_ops(image, changed, controller_epoch), results)


def decide_completions(
    image: Image, controller_epoch: int, limit: int | None = None
) -> Decision[MoveResult]:
    """End the moves whose new replicas are all in sync, `limit` of them at most."""
    ready = (
        (topic, partition, _completed(image, partition))
        for topic in image.topics.values()
        for partition in topic.partitions
        if is_moving(partition)
        and set(_target(partition)) <= set(partition.isr)
        and is_settled(image, partition)
    )
    changed = list(islice(ready, limit))
    results = [MoveResult(topic.name, before.partition) for topic, before, _ in changed]
    return Decision(_ops(image, changed, controller_epoch), results)


def is_moving(partition: PartitionImage) -> bool:
    """Whether a reassignment of the partition is under way."""
    return bool(partition.adding or partition.removing)


def _target(partition: PartitionImage) -> tuple[int, ...]:
    return tuple(each for each in partition.replicas if each not in partition.removing)


def _original(partition: PartitionImage) -> tuple[int, ...]:
    return tuple(each for each in partition.replicas if each not in partition.adding)


def _begin(
    image: Image, move: Move, may_change_factor: bool
) -> tuple[TopicImage, PartitionImage, PartitionImage]:
    topic = image.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    if topic is None or partition is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition")
    before = _original(partition)
    if move.target is None:
        if not is_moving(partition):
            raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "the partition does not move")
        return topic, partition, _placed(image, partition, before, (), ())
    _check_target(image, move.target)
    if not may_change_factor and len(move.target) != len(before):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"the partition has {len(before)} replicas, and {len(move.target)} were given",
        )
    adding = tuple(each for each in move.target if each not in before)
    removing = tuple(each for each in before if each not in move.target)
    return topic, partition, _placed(image, partition, move.target + removing, adding, removing)


def _check_target(image: Image, target: tuple[int, ...]) -> None:
    if not target or len(set(target)) < len(target):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition needs replicas, each broker once"
        )
    unknown = sorted(each for each in target if each not in image.brokers)
    if unknown:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"these brokers are not registered: {unknown}"
        )


def _completed(image: Image, partition: PartitionImage) -> PartitionImage:
    return _placed(image, partition, _target(partition), (), ())


def _placed(
    image: Image,
    partition: PartitionImage,
    replicas: tuple[int, ...],
    adding: tuple[int, ...],
    removing: tuple[int, ...],
) -> PartitionImage:
    """The partition on these replicas; whoever is no longer one of them neither leads nor is in sync.

    When one leaves, another leader epoch begins, as in Kafka: should it be back at once with an empty log, a fetch that
    it sent before says nothing of what it holds now.
    """
    moved = partition._replace(
        replicas=replicas,
        adding=adding,
        removing=removing,
        elr=tuple(each for each in partition.elr if each in replicas),
        left={each: bound for each, bound in partition.left.items() if each in replicas},
    )
    isr = tuple(each for each in partition.isr if each in replicas)
    if not isr:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "none of the replicas that would stay is in sync"
        )
    is_led = partition.leader != NO_LEADER
    # Nobody who may hold what is committed is forgotten while it is unknown who does.
    is_same = (isr, moved.elr, moved.left) == (partition.isr, partition.elr, partition.left)
    if is_same and (not is_led or set(partition.replicas) <= set(replicas)):
        if len(partition.replicas) == 1 and is_settled(image, partition):
            # The only replica was believed whatever life it is in; from now on others may go another way.
            return moved._replace(lives=current_lives(image, isr))
        return moved
    if not is_settled(image, partition):
        raise ApiError(
            ErrorCode.LEADER_NOT_AVAILABLE, "who leads the partition is being settled; try again"
        )
    leader = partition.leader
    if leader not in replicas:
        leader = next(each for each in replicas if each in isr)
    return moved._replace(
        isr=isr,
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        lives={**partition.lives, **current_lives(image, isr)},
    )


def _ops(
    image: Image,
    changed: Iterable[tuple[TopicImage, PartitionImage, PartitionImage]],
    controller_epoch: int,
) -> list[Op]:
    """One write for each topic, and one for each state that changes with it."""
    topics: dict[str, tuple[TopicImage, dict[int, PartitionImage]]] = {}
    ops: list[Op] = []
    relied: set[int] = set()
    for topic, before, after in changed:
        topics.setdefault(topic.name, (topic, {}))[1][after.partition] = after
        if _stated(before) != _stated(after):
            relied.update(after.isr)
            path = znodes.state_path(topic.name, after.partition)
            data = znodes.encode_state(_state(after, controller_epoch))
            ops.append(Set(path, data, before.partition_epoch))
    for topic, moved in topics.values():
        partitions = [moved.get(each.partition, each) for each in topic.partitions]
        node = topic_node(topic, partitions)
        ops.append(Set(znodes.topic_path(topic.name), znodes.encode_topic(node), topic.version))
    return [*fences(image, relied), *ops]


def _stated(partition: PartitionImage) -> tuple[object, ...]:
    """What a partition's state node says of it."""
    led = partition.leader, partition.leader_epoch, partition.isr
    return *led, partition.lives, partition.elr, partition.left


def _state(partition: PartitionImage, controller_epoch: int) -> znodes.StateNode:
    members = (*partition.isr, *partition.elr)
    return znodes.StateNode(
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        controller_epoch,
        {each: life for each, life in partition.lives.items() if each in members},
        partition.elr,
        partition.left,
    )


def topic_node(topic: TopicImage, partitions: Sequence[PartitionImage]) -> znodes.TopicNode:
    """A topic's node with its partitions on these replicas."""
    return znodes.TopicNode(
        topic.topic_id,
        tuple(each.replicas for each in partitions),
        {each.partition: each.adding for each in partitions if each.adding},
        {each.partition: each.removing for each in partitions if each.removing},
    )
