"""Pure: who leads a partition, and who counts as in sync, when brokers come, go or stop (docs/adr/0010-lives.md).

- A leader comes from the ISR, in the order of the replicas. Whoever is gone leaves the ISR in the same step, but never
  as its last member: then nobody leads, and the state says who may.
- A member of the ISR or the ELR is *sound* if it is registered in the life that the state names: nothing that it
  acknowledged can be missing from its log. Nothing is inferred from when a state was written.
- If nobody is sound, all members must be back (`last_resort`).
- Only where `unclean.leader.election.enable` says so does a replica lead that was not in sync; records are lost then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ottla.base.ids import TopicPartition
from ottla.cluster.image import NO_LEADER, Image, PartitionImage, TopicImage
from ottla.controller.last_resort import Known, Wait, last_resort, unclean
from ottla.controller.states import NewState, changed, is_settled, is_sound, led_by_nobody
from ottla.protocol.errors import ErrorCode

Ends: TypeAlias = Callable[[TopicImage, PartitionImage], Known]
"""How far the replicas of a partition are, in this state of it and in the present registrations of their brokers."""


class Policy(NamedTuple):
    """What the settings of a topic say."""

    min_isr: Callable[[str], int]
    may_be_unclean: Callable[[str], bool]


class Undecided(NamedTuple):
    """A partition without a sound member: how far the replicas that are there are must be asked first."""

    topic: TopicImage
    partition: PartitionImage


def after_change(image: Image, policy: Policy, ends: Ends) -> Iterator[NewState | Undecided]:
    """What follows from the brokers that are registered now."""
    for topic in image.topics.values():
        for partition in topic.partitions:
            decided = _after_change(image, topic, partition, policy, ends)
            if decided is not None:
                yield decided


def _after_change(
    image: Image, topic: TopicImage, partition: PartitionImage, policy: Policy, ends: Ends
) -> NewState | Undecided | None:
    if partition.partition_epoch < 0:
        return None  # it is being made
    sound = tuple(each for each in partition.isr if is_sound(image, partition, each))
    leader = partition.leader
    if leader in sound:
        is_named = bool(partition.lives) or len(partition.replicas) == 1
        if sound == partition.isr and is_named and not _is_elr_outdated(topic, partition, policy):
            return None
        return changed(image, topic, partition, leader, sound, policy.min_isr(topic.name))
    # Nothing is committed while there are eligible ones outside of the ISR: they hold all that is.
    sound = sound or tuple(each for each in partition.elr if is_sound(image, partition, each))
    if sound:
        leader = next(each for each in partition.replicas if each in sound)
        return changed(image, topic, partition, leader, sound, policy.min_isr(topic.name))
    known = ends(topic, partition)
    found = last_resort(image, topic, partition, known)
    if found is Wait.FOR_BROKERS and policy.may_be_unclean(topic.name):
        found = unclean(image, topic, partition, known)
    if isinstance(found, NewState):
        return found
    if found is Wait.FOR_ANSWERS:
        return Undecided(topic, partition)
    return None if leader == NO_LEADER else led_by_nobody(topic, partition)


def _is_elr_outdated(topic: TopicImage, partition: PartitionImage, policy: Policy) -> bool:
    """Whether an ELR beside enough replicas in sync rests on a min.insync.replicas that is none any more."""
    if not partition.elr:
        return False
    return len(partition.isr) >= min(policy.min_isr(topic.name), len(partition.replicas))


def hand_over(image: Image, broker_id: int, policy: Policy) -> Iterator[NewState]:
    """What a broker that is about to stop gives up: all but what no sound replica holds besides it."""
    for topic in image.topics.values():
        for partition in topic.partitions:
            if broker_id not in partition.isr or len(partition.replicas) == 1:
                continue
            others = tuple(
                each
                for each in partition.isr
                if each != broker_id and is_sound(image, partition, each)
            )
            if not others or partition.leader not in (broker_id, *others):
                continue
            leader = partition.leader
            if leader == broker_id:
                leader = next(each for each in partition.replicas if each in others)
            min_isr = policy.min_isr(topic.name)
            yield changed(image, topic, partition, leader, others, min_isr)


def preferred(
    image: Image, wanted: Callable[[TopicImage, PartitionImage], bool], policy: Policy
) -> Iterator[NewState]:
    """Give partitions back to the first of their replicas, where that is in sync and sound, as all of the ISR is."""
    for topic in image.topics.values():
        for partition in topic.partitions:
            first = partition.replicas[0]
            if (
                partition.leader != first
                and first in partition.isr
                and is_settled(image, partition)
                and wanted(topic, partition)
            ):
                min_isr = policy.min_isr(topic.name)
                yield changed(image, topic, partition, first, partition.isr, min_isr)


def election_error(image: Image, tp: TopicPartition, *, unclean: bool) -> ErrorCode:
    """Why an election that somebody asks for cannot be held, or need not; NONE if it can."""
    partition = image.partition(*tp)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition.partition_epoch < 0:
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if unclean:
        if is_sound(image, partition, partition.leader):
            return ErrorCode.ELECTION_NOT_NEEDED
        if not any(each in image.brokers for each in partition.replicas):
            return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return ErrorCode.NONE
    first = partition.replicas[0]
    if partition.leader == first:
        return ErrorCode.ELECTION_NOT_NEEDED
    if first not in partition.isr or not is_settled(image, partition):
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return ErrorCode.NONE


def eligible_leaders(
    image: Image, partition: PartitionImage
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Replicas outside of the ISR that may lead (Elr), and those that must be asked first (LastKnownElr; KIP-966).

    The latter have begun another life since they were in sync, or no leader has said yet what they may hold.
    """
    restarted = tuple(
        each
        for each in partition.elr
        if each in image.brokers and not is_sound(image, partition, each)
    )
    unknown = tuple(each for each, bound in partition.left.items() if bound is None)
    return tuple(each for each in partition.elr if each not in restarted), restarted + unknown


def waits_for(image: Image, partition: PartitionImage) -> tuple[int, ...]:
    """The brokers without which nobody may lead a partition that has no leader; empty if it has one.

    Of those that left the ISR only the ones of which nobody knows how much they hold.
    """
    if is_sound(image, partition, partition.leader):
        return ()
    unknown = (each for each, bound in partition.left.items() if bound is None)
    needed = dict.fromkeys((*partition.isr, *partition.elr, *unknown))
    return tuple(each for each in needed if each not in image.brokers)
