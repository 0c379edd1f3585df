"""Pure: whether a leader gets the ISR that it asks for (AlterPartition; KIP-497, KIP-841, KIP-903)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.cluster.znodes import Bound
from ottla.controller.leaders import Policy
from ottla.controller.states import NewState, changed, is_sound
from ottla.protocol.errors import ErrorCode


class WantedIsr(NamedTuple):
    """One partition of a request; members with the broker epochs that the leader knows.

    `left_end`: what the leader's log held when it knew the state it asks to change: nobody who had left by then holds
    anything committed behind it.
    """

    topic_id: UUID
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    left_end: Bound | None = None


class IsrResult(NamedTuple):
    """What became of it."""

    topic_id: UUID
    partition: int
    error: ErrorCode
    now: PartitionImage | None = None


def decide_isrs(
    image: Image, leader_id: int, wanted: Sequence[WantedIsr], policy: Policy
) -> Iterator[tuple[IsrResult, NewState | None]]:
    """The results, each with the change that it needs, if it needs one."""
    for each in wanted:
        topic = image.topics_by_id.get(each.topic_id)
        partition = None if topic is None else topic.partition(each.partition)
        try:
            state = _decide(image, leader_id, each, topic, partition, policy)
        except ApiError as refused:
            code = ErrorCode(refused.code)
            yield IsrResult(each.topic_id, each.partition, code, partition), None
        else:
            yield IsrResult(each.topic_id, each.partition, ErrorCode.NONE, partition), state


def _decide(
    image: Image,
    leader_id: int,
    wanted: WantedIsr,
    topic: TopicImage | None,
    partition: PartitionImage | None,
    policy: Policy,
) -> NewState | None:
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    if partition is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    _check_epochs(wanted, partition)
    members = tuple(broker_id for broker_id, _ in wanted.isr)
    if partition.leader != leader_id or leader_id not in members:
        raise ApiError(ErrorCode.INVALID_REQUEST, "only a leader that is in sync asks for an ISR")
    is_same = set(members) == set(partition.isr)
    if is_same and (wanted.left_end is None or None not in partition.left.values()):
        return None  # it was granted before, and asked for again
    if wanted.partition_epoch < partition.partition_epoch:
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION)
    if not set(members) <= set(partition.replicas):
        raise ApiError(ErrorCode.INVALID_REQUEST, "a broker in the ISR is no replica")
    if not all(_is_eligible(image, partition, *member) for member in wanted.isr):
        raise ApiError(ErrorCode.INELIGIBLE_REPLICA)
    before = partition
    if wanted.left_end is not None:
        told = {each: bound or wanted.left_end for each, bound in partition.left.items()}
        before = partition._replace(left=told)
    return changed(image, topic, before, leader_id, members, policy.min_isr(topic.name))


def _is_eligible(image: Image, partition: PartitionImage, broker_id: int, epoch: int) -> bool:
    """A member stays if it is in the life that the state names; one joins as it is registered since it caught up."""
    if broker_id in partition.isr:
        return is_sound(image, partition, broker_id)
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.epoch == epoch


def _check_epochs(wanted: WantedIsr, partition: PartitionImage) -> None:
    if wanted.leader_epoch < partition.leader_epoch:
        raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)
    if (
        wanted.leader_epoch > partition.leader_epoch
        or wanted.partition_epoch > partition.partition_epoch
    ):
        # KAFKA-14154: the leader knows more than we do, so we may no longer be the controller.
        raise ApiError(ErrorCode.NOT_CONTROLLER)
