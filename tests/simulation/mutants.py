"""Brokers with one rule missing: the simulation is worth as much as it finds of them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from ottla.cluster import registration
from ottla.cluster.image import PartitionImage
from ottla.controller import isr, last_resort, leaders, reassignment, states
from ottla.controller.states import NewState
from ottla.coordination.runtime import Coordinator
from ottla.replication.fetcher import Fetcher
from ottla.replication.leadership import Leadership
from ottla.replication.partition import Partition
from ottla.storage import log, recovery
from ottla.storage.producer_state import ProducerState

Mutant = Callable[[], AbstractContextManager[Any]]


def ack_before_replication() -> AbstractContextManager[Any]:
    """What the leader holds counts as committed."""
    return patch.object(Leadership, "committed_end", lambda self, own_end_offset: own_end_offset)


def no_epoch_check() -> AbstractContextManager[Any]:
    """A follower whose log went another way is not told."""
    return patch.object(Partition, "diverging_epoch", lambda self, epoch, offset: None)


@contextmanager
def returns_are_not_noticed() -> Iterator[None]:
    """A replica that has left and come back, with an empty log, gets what the one before it asked for."""
    placed = reassignment._placed

    def in_the_same_epoch(image: Any, partition: PartitionImage, *moved: Any) -> PartitionImage:
        after = placed(image, partition, *moved)
        if after.leader == partition.leader:
            after = after._replace(leader_epoch=partition.leader_epoch)
        return after

    with (
        patch.object(reassignment, "_placed", in_the_same_epoch),
        patch.object(Fetcher, "_awaits", lambda self, partition, end: not partition.is_leader),
    ):
        yield


def truncate_to_the_high_watermark() -> AbstractContextManager[Any]:
    """As Kafka did before KIP-101: a follower of a new leader cuts its log by what it believes committed."""
    place = Partition.place

    def placed(self: Partition, image: Any, now_ms: int) -> None:
        before = self.leader_epoch
        place(self, image, now_ms)
        if not self.is_leader and self.leader_epoch != before:
            self.log.truncate_to(self.log.high_watermark, now_ms)

    return patch.object(Partition, "place", placed)


def isr_without_compare_and_set() -> AbstractContextManager[Any]:
    """Whoever asks for an ISR gets it, however old the state it knows."""

    def decide(image: Any, leader_id: int, wanted: Any, topic: Any, partition: Any, _: Any) -> Any:
        members = tuple(broker_id for broker_id, _ in wanted.isr if broker_id in image.brokers)
        if topic is None or partition is None or members == partition.isr:
            return None
        lives = states.current_lives(image, members)
        return NewState(topic, partition, leader_id, members, is_elected=False, lives=lives)

    return patch.object(isr, "_decide", decide)


@contextmanager
def forgotten_producer_state() -> Iterator[None]:
    """After a restart nobody knows what producers sent before."""

    def nothing(*_: Any, **__: Any) -> ProducerState:
        return ProducerState()

    with (
        patch.object(log, "load_producers", nothing),
        patch.object(recovery, "load_producers", nothing),
        patch.object(recovery, "apply_batch", nothing),
        patch.object(recovery, "recall_recent", nothing),
    ):
        yield


def commit_visible_before_the_watermark() -> AbstractContextManager[Any]:
    """A coordinator answers before what it answers from is committed."""

    def reply(self: Any, hosted: Any, replies: Any) -> None:
        for token, value in replies:
            token(value)

    return patch.object(Coordinator, "_reply", reply)


def every_process_goes_on_with_its_life() -> AbstractContextManager[Any]:
    """A broker that lost its power, or its disk, is believed to hold all that it acknowledged."""

    def kept(known: Any, directories: Any, proof: Any, before: Any) -> int | None:
        return None if known is None else known.life  # type: ignore[no-any-return]

    return patch.object(registration, "_kept_life", kept)


@contextmanager
def any_clean_stop_will_do() -> Iterator[None]:
    """Of the epoch in the clean-shutdown file only the sign is looked at: an older copy of a disk has one."""
    kept_life = registration._kept_life

    def kept(known: Any, directories: Any, proof: Any, before: Any) -> int | None:
        if known is not None and proof.clean_epoch >= 0:
            return known.life  # type: ignore[no-any-return]
        return kept_life(known, directories, proof, before)

    with patch.object(registration, "_kept_life", kept):
        yield


def the_last_known_leader_leads() -> AbstractContextManager[Any]:
    """The last resort of KIP-966: whoever of the last members is there first, with what is left on its disk."""

    def first(image: Any, topic: Any, partition: PartitionImage, known: Any) -> Any:
        there = next((each for each in partition.isr if each in image.brokers), None)
        if there is None:
            return last_resort.Wait.FOR_BROKERS
        lives = states.current_lives(image, [there])
        return NewState(topic, partition, there, (there,), lives=lives)

    return patch.object(leaders, "last_resort", first)


@contextmanager
def who_left_is_forgotten() -> Iterator[None]:
    """A replica that left the ISR is not waited for, whatever the others have lost since."""
    changed = leaders.changed

    def forgetful(*arguments: Any, **options: Any) -> NewState:
        return changed(*arguments, **options)._replace(left={})

    with patch.object(leaders, "changed", forgetful), patch.object(isr, "changed", forgetful):
        yield


def the_watermark_moves_below_min_isr() -> AbstractContextManager[Any]:
    """What too few hold is committed, and yet who left before may lead."""
    return patch.object(Partition, "is_under_min_isr", property(lambda self: False))


MUTANTS: dict[str, Mutant] = {
    each.__name__: each
    for each in (
        ack_before_replication,
        no_epoch_check,
        returns_are_not_noticed,
        truncate_to_the_high_watermark,
        isr_without_compare_and_set,
        forgotten_producer_state,
        commit_visible_before_the_watermark,
        every_process_goes_on_with_its_life,
        any_clean_stop_will_do,
        the_last_known_leader_leads,
        who_left_is_forgotten,
        the_watermark_moves_below_min_isr,
    )
}
