"""Pure: who leads when nobody is sound: the furthest, once nobody who is away can hold more."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias

from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.cluster.znodes import Bound
from ottla.controller.states import NewState, current_lives

Known: TypeAlias = Mapping[int, Bound | None]
"""How far replicas are, by broker; None of one whose broker says that it cannot tell: its disk has failed."""


class Wait(Enum):
    """Why nobody is elected yet."""

    FOR_BROKERS = auto()
    """Somebody who is away, or whose disk cannot be read, may hold what is committed."""
    FOR_ANSWERS = auto()
    """Those who are there have not all said how far they are."""


def last_resort(
    image: Image, topic: TopicImage, partition: PartitionImage, known: Known
) -> NewState | Wait:
    """The furthest of all who are there, if all members of the ISR and the ELR are, and nobody else may hold more."""
    members = {*partition.isr, *partition.elr}
    if not members or not members <= image.brokers.keys():
        return Wait.FOR_BROKERS
    if not _have_answered(image, partition, known):
        return Wait.FOR_ANSWERS
    if any(known[each] is None for each in members):
        return Wait.FOR_BROKERS
    state = _led_by_the_furthest(image, topic, partition, known)
    furthest = known[state.leader]
    for each, bound in partition.left.items():
        told = known.get(each) or bound
        if each not in members and (told is None or furthest is None or told > furthest):
            return Wait.FOR_BROKERS
    return state


def unclean(
    image: Image, topic: TopicImage, partition: PartitionImage, known: Known
) -> NewState | Wait:
    """The furthest of those who are there and have said it, whatever others hold: that is given up."""
    if not _have_answered(image, partition, known):
        return Wait.FOR_ANSWERS
    if not any(known.values()):
        return Wait.FOR_BROKERS
    state = _led_by_the_furthest(image, topic, partition, known)
    return state._replace(isr=(state.leader,), lives=current_lives(image, (state.leader,)), left={})


def _have_answered(image: Image, partition: PartitionImage, known: Known) -> bool:
    return all(each in known for each in partition.replicas if each in image.brokers)


def _led_by_the_furthest(
    image: Image, topic: TopicImage, partition: PartitionImage, known: Known
) -> NewState:
    """Those who are as far as the leader are in sync; what the others hold is known, and is not more."""
    ends = {each: end for each in partition.replicas if (end := known.get(each)) is not None}
    leader = max(ends, key=lambda each: ends[each])  # the first of those that are as far
    isr = tuple(each for each, end in ends.items() if end == ends[leader])
    left = {each: ends.get(each, bound) for each, bound in partition.left.items()}
    left |= {each: ends[each] for each in (*partition.isr, *partition.elr) if each in ends}
    return NewState(
        topic,
        partition,
        leader,
        isr,
        lives=current_lives(image, isr),
        left={each: bound for each, bound in left.items() if each not in isr},
    )
