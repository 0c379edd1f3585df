"""Pure: `min.insync.replicas` is one for the cluster: which replicas are eligible leaders rests on it (KIP-966)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ottla.cluster import znodes
from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.cluster.tree import Op, Set
from ottla.controller.states import NewState

MIN_ISR: Final = "min.insync.replicas"


def without_elr(
    image: Image, topic: str | None, before: Mapping[str, str], after: Mapping[str, str], epoch: int
) -> list[Op]:
    """What is written with another value of a topic, or with None of the cluster: nobody is eligible by the old one."""
    if before.get(MIN_ISR) == after.get(MIN_ISR):
        return []
    return [_cleared(*each, epoch) for each in _concerned(image, topic)]


def _concerned(image: Image, name: str | None) -> Iterator[tuple[TopicImage, PartitionImage]]:
    for topic in image.topics.values():
        if topic.name == name or (name is None and MIN_ISR not in image.topic_config(topic.name)):
            for partition in topic.partitions:
                if partition.elr:
                    yield topic, partition


def _cleared(topic: TopicImage, partition: PartitionImage, epoch: int) -> Op:
    """The partition without eligible leaders: they have left, and nobody says any more how much they hold."""
    state = NewState(
        topic,
        partition,
        partition.leader,
        partition.isr,
        is_elected=False,
        lives={each: life for each, life in partition.lives.items() if each in partition.isr},
        left={**partition.left, **dict.fromkeys(partition.elr)},
    )
    path = znodes.state_path(topic.name, partition.partition)
    return Set(path, znodes.encode_state(state.node(epoch)), partition.partition_epoch)
