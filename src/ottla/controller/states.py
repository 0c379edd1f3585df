"""Pure: the states that a controller writes for a partition, and whose lives they rest on (docs/adr/0010-lives.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from ottla.cluster import znodes
from ottla.cluster.image import NO_LEADER, Image, PartitionImage, TopicImage
from ottla.cluster.tree import Check
from ottla.cluster.znodes import Bound

NO_LIVES: Final[Mapping[int, int]] = MappingProxyType({})
NOBODY_LEFT: Final[Mapping[int, Bound | None]] = MappingProxyType({})


class NewState(NamedTuple):
    """What a partition is to become: another leader, or another life of it, begins another epoch."""

    topic: TopicImage
    partition: PartitionImage
    leader: int
    isr: tuple[int, ...]
    is_elected: bool = True
    lives: Mapping[int, int] = NO_LIVES
    elr: tuple[int, ...] = ()
    left: Mapping[int, Bound | None] = NOBODY_LEFT

    @property
    def leader_epoch(self) -> int:
        """Epochs count leaders, not changes of the ISR (KAFKA-15021)."""
        return self.partition.leader_epoch + self.is_elected

    def node(self, controller_epoch: int) -> znodes.StateNode:
        """What is written into the tree."""
        return znodes.StateNode(
            self.leader,
            self.leader_epoch,
            self.isr,
            controller_epoch,
            self.lives,
            self.elr,
            self.left,
        )


def is_sound(image: Image, partition: PartitionImage, broker_id: int) -> bool:
    """Whether a member of the ISR or the ELR is there, and surely holds all that it acknowledged.

    A partition's only replica is always believed: nobody else can have gone another way.
    """
    broker = image.brokers.get(broker_id)
    if broker is None:
        return False
    if len(partition.replicas) == 1:
        return True
    if partition.lives:
        return partition.lives.get(broker_id) == broker.life
    # A controller of the build before wrote this. Where it has a leader that leads, it is taken over as it is.
    leader = image.brokers.get(partition.leader)
    return leader is not None and max(leader.epoch, broker.epoch) < partition.zxid


def is_settled(image: Image, partition: PartitionImage) -> bool:
    """Whether the partition's state tells of all brokers that have come and gone."""
    return partition.leader != NO_LEADER and all(
        is_sound(image, partition, each) for each in partition.isr
    )


def changed(
    image: Image,
    topic: TopicImage,
    partition: PartitionImage,
    leader: int,
    isr: Sequence[int],
    min_isr: int,
    *,
    is_elected: bool | None = None,
) -> NewState:
    """The partition with this ISR, all of whose members are sound or have caught up.

    Below `min_isr` nothing is committed: who was in sync until then holds all that is, and stays eligible (KIP-966).
    While enough are in sync, what those hold who left is bounded, but not known before a leader has told it.
    """
    out = tuple(each for each in (*partition.isr, *partition.elr) if each not in isr)
    is_short = len(isr) < min(min_isr, len(partition.replicas))
    elr = tuple(dict.fromkeys(out)) if is_short else ()
    left: dict[int, Bound | None] = {
        each: bound
        for each, bound in partition.left.items()
        if each not in isr and each in partition.replicas
    }
    if not is_short:
        left |= dict.fromkeys(out)
    return NewState(
        topic,
        partition,
        leader,
        tuple(isr),
        leader != partition.leader if is_elected is None else is_elected,
        {**_kept(partition, elr), **current_lives(image, isr)},
        elr,
        left,
    )


def led_by_nobody(topic: TopicImage, partition: PartitionImage) -> NewState:
    """The partition without a leader; nothing else is forgotten of it."""
    return NewState(
        topic,
        partition,
        NO_LEADER,
        partition.isr,
        lives=partition.lives,
        elr=partition.elr,
        left=partition.left,
    )


def current_lives(image: Image, members: Iterable[int]) -> dict[int, int]:
    """The lives in which these brokers are registered."""
    return {each: image.brokers[each].life for each in members}


def fences(image: Image, brokers: Iterable[int]) -> list[Check]:
    """What makes a step fail if one of these brokers has registered since: it may be in another life."""
    registered = (image.brokers[each] for each in sorted(set(brokers)) if each in image.brokers)
    return [
        Check(znodes.incarnation_path(broker.broker_id), broker.incarnation)
        for broker in registered
        if broker.incarnation >= 0
    ]


def _kept(partition: PartitionImage, members: Iterable[int]) -> dict[int, int]:
    return {each: partition.lives[each] for each in members if each in partition.lives}
