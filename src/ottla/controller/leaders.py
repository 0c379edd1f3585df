"""Pure: who leads a partition, and who counts as in sync, when brokers come, go or stop.

- A leader comes from the ISR, in the order of the replicas. Whoever is gone leaves the ISR in the same step, but never
  as its last member: then nobody leads, and the ISR says who may.
- A member is *sound* if nothing that it acknowledged can be missing from its log: it stopped cleanly, or it joined the
  ISR in its present life. If none of the ISR is sound, all of it must be back: the furthest leads, and those who are as
  far stay in sync, for their logs are the same.
- Only where `unclean.leader.election.enable` says so does a replica lead that was not in sync; records are lost then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.cluster.image import NO_LEADER, Image, PartitionImage, TopicImage
from ottla.protocol.errors import ErrorCode

LogEnd: TypeAlias = tuple[int, int]
"""The last leader epoch of a log, and where it ends: the greater of two logs holds what the other does."""

Ends: TypeAlias = Mapping[tuple[UUID, int], Mapping[int, LogEnd]]
"""How far the replicas of partitions are, by broker."""


class NewState(NamedTuple):
    """What a partition is to become: another leader, or another life of it, begins another epoch."""

    topic: TopicImage
    partition: PartitionImage
    leader: int
    isr: tuple[int, ...]
    is_elected: bool = True

    @property
    def leader_epoch(self) -> int:
        """Epochs count leaders, not changes of the ISR (KAFKA-15021)."""
        return self.partition.leader_epoch + self.is_elected


class Undecided(NamedTuple):
    """A partition none of whose in-sync replicas is sound: how far they are must be asked first."""

    topic: TopicImage
    partition: PartitionImage


def after_change(
    image: Image, is_unclean_allowed: Callable[[str], bool], ends: Ends
) -> Iterator[NewState | Undecided]:
    """What follows from the brokers that are registered now."""
    for topic in image.topics.values():
        for partition in topic.partitions:
            decided = _after_change(image, topic, partition, is_unclean_allowed, ends)
            if decided is not None:
                yield decided


def _after_change(
    image: Image,
    topic: TopicImage,
    partition: PartitionImage,
    is_unclean_allowed: Callable[[str], bool],
    ends: Ends,
) -> NewState | Undecided | None:
    alive = image.brokers
    isr = tuple(each for each in partition.isr if each in alive)
    sound = tuple(each for each in isr if is_sound(image, partition, each))
    leader = partition.leader
    if leader in alive and not _has_restarted(image, partition, leader):
        kept = tuple(each for each in isr if each == leader or each in sound)
        return None if kept == partition.isr else NewState(topic, partition, leader, kept, False)
    if sound:
        leader = next(each for each in partition.replicas if each in sound)
        return NewState(topic, partition, leader, sound)
    if isr and len(isr) == len(partition.isr):
        known = ends.get((topic.topic_id, partition.partition), {})
        if len(isr) > 1 and any(each not in known for each in isr):
            return Undecided(topic, partition)
        furthest = max(isr, key=lambda each: known.get(each, (0, 0)))
        level = tuple(each for each in isr if known.get(each) == known.get(furthest))
        return NewState(topic, partition, furthest, level)
    if is_unclean_allowed(topic.name):
        leader = next((each for each in partition.replicas if each in alive), NO_LEADER)
        if leader != NO_LEADER:
            return NewState(topic, partition, leader, (leader,))
    if partition.leader != NO_LEADER:
        return NewState(topic, partition, NO_LEADER, partition.isr)
    return None


def is_sound(image: Image, partition: PartitionImage, broker_id: int) -> bool:
    """Whether a member of the ISR surely holds all that it acknowledged."""
    return image.brokers[broker_id].clean or not _has_restarted(image, partition, broker_id)


def _has_restarted(image: Image, partition: PartitionImage, broker_id: int) -> bool:
    """Whether a broker was registered anew since the partition got its state.

    A partition's only replica need not be told apart from its earlier life: nobody else can have gone another way.
    """
    return len(partition.replicas) > 1 and image.brokers[broker_id].epoch > partition.zxid


def hand_over(image: Image, broker_id: int) -> Iterator[NewState]:
    """What a broker that is about to stop gives up: all but what nobody else holds."""
    for topic in image.topics.values():
        for partition in topic.partitions:
            if broker_id not in partition.isr:
                continue
            others = tuple(b for b in partition.isr if b != broker_id and b in image.brokers)
            if not others:
                continue
            leader = partition.leader
            if leader == broker_id:
                leader = next(each for each in partition.replicas if each in others)
            yield NewState(topic, partition, leader, others, leader != partition.leader)


def preferred(
    image: Image, wanted: Callable[[TopicImage, PartitionImage], bool]
) -> Iterator[NewState]:
    """Give partitions back to the first of their replicas, where that is in sync and alive."""
    for topic in image.topics.values():
        for partition in topic.partitions:
            first = partition.replicas[0]
            if (
                partition.leader != first
                and first in partition.isr
                and first in image.brokers
                and wanted(topic, partition)
            ):
                yield NewState(topic, partition, first, partition.isr)


def election_error(image: Image, tp: TopicPartition, *, unclean: bool) -> ErrorCode:
    """Why an election that somebody asks for cannot be held, or need not; NONE if it can."""
    partition = image.partition(*tp)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if unclean:
        if partition.leader in image.brokers:
            return ErrorCode.ELECTION_NOT_NEEDED
        if not any(each in image.brokers for each in partition.replicas):
            return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return ErrorCode.NONE
    first = partition.replicas[0]
    if partition.leader == first:
        return ErrorCode.ELECTION_NOT_NEEDED
    if first not in partition.isr or first not in image.brokers:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return ErrorCode.NONE


def unclean_leaders(image: Image, wanted: Collection[TopicPartition]) -> Iterator[NewState]:
    """Leaders for partitions that have none: the first replica that is there, in sync or not."""
    for tp in wanted:
        topic = image.topics.get(tp.topic)
        partition = image.partition(*tp)
        if topic is None or partition is None or partition.leader in image.brokers:
            continue
        leader = next((each for each in partition.replicas if each in image.brokers), None)
        if leader is not None:
            yield NewState(topic, partition, leader, (leader,))
