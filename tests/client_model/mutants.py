"""Clients with one promise broken: the model is worth as much as it finds of them."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from ottla.client.classic_membership import ClassicMembership
from ottla.client.consumer_membership import ConsumerMembership
from ottla.client.membership import Standing
from ottla.client.partition_queue import Identity, PartitionQueue
from ottla.client.sender import Sender
from tests.client_model.plan import Event, Plan

Mutant = Callable[[], AbstractContextManager[Any]]
_SEQUENCES = 1 << 31


def a_stalled_member_is_nobody() -> AbstractContextManager[Any]:
    """After a loss, commits carry no member at all, or the one that it became since (classic protocol)."""

    def standing(self: ClassicMembership) -> Standing:
        return Standing(self._group_id, self._member.member_id, self._member.generation)

    return patch.object(ClassicMembership, "standing", standing)


def a_lost_member_joins_again_in_the_background() -> AbstractContextManager[Any]:
    """Heartbeats go on after a loss that the program has not heard of (KIP-848)."""

    async def beat(self: ConsumerMembership) -> None:
        while self._failure is None:
            overdue = self._loop.time() - self._polled - self._settings.max_poll_interval_ms / 1000
            if overdue > 0:
                await self._fall_silent()
                return
            try:
                await self._beat_once()
            except Exception:
                self._member.unheard()
            self._news.set()
            await self._rest()

    return patch.object(ConsumerMembership, "_beat", beat)


def an_assignment_is_forgotten_with_its_poll() -> AbstractContextManager[Any]:
    """A poll that is cancelled while partitions leave is never finished."""
    apply = ClassicMembership._apply

    async def forgetful(self: ClassicMembership, share: Any) -> None:
        self._share = None
        try:
            await apply(self, share)
        except asyncio.CancelledError:
            self._member.rejoin = False
            raise

    return patch.object(ClassicMembership, "_apply", forgetful)


def what_was_sent_is_numbered_anew() -> AbstractContextManager[Any]:
    """A batch that may be written takes the next epoch, so that no broker knows it again."""

    def number(self: PartitionQueue[Any], batch: Any, identity: Identity) -> bool:
        if identity != self._identity:
            if self.in_flight:
                return False
            self._identity, self._next_sequence = identity, 0
        if batch.identity != identity:
            batch.claim(identity, self._next_sequence)
            self._next_sequence = (self._next_sequence + batch.encoder.count) % _SEQUENCES
        return True

    return patch.object(PartitionQueue, "_number", number)


def closing_forgets_what_is_in_flight() -> AbstractContextManager[Any]:
    """Deliveries of batches without an answer are never told."""

    async def close(self: Sender) -> None:
        self._closed = True
        await self.routes.close()

    return patch.object(Sender, "close", close)


MUTANTS: dict[str, Mutant] = {
    each.__name__: each
    for each in (
        a_stalled_member_is_nobody,
        a_lost_member_joins_again_in_the_background,
        an_assignment_is_forgotten_with_its_poll,
        what_was_sent_is_numbered_anew,
        closing_forgets_what_is_in_flight,
    )
}

FOUND_BY: dict[str, Plan] = {
    "a_stalled_member_is_nobody": Plan(
        "range",
        0,
        (
            Event("stall in transaction", 1, 0.0, 4.0),
            Event("reset", 2, 1.0, 0.1),
            Event("freeze", 0, 1.0, 4.0),
        ),
    ),
    "a_lost_member_joins_again_in_the_background": Plan(
        "consumer",
        0,
        (
            Event("stall in transaction", 0, 0.0, 4.0),
            Event("freeze", 0, 0.1, 1.5),
            Event("reset", 2, 1.0, 0.1),
            Event("reset", 2, 1.0, 0.1),
        ),
    ),
    "an_assignment_is_forgotten_with_its_poll": Plan(
        "cooperative-sticky",
        0,
        (Event("freeze", 1, 0.0, 1.5), Event("cancel while partitions leave", 0, 0.0, 4.0)),
    ),
    "what_was_sent_is_numbered_anew": Plan("range", 0, (Event("lose answers", 2, 0.02, 1.5),)),
    "closing_forgets_what_is_in_flight": Plan(
        "range", 0, (Event("lose answers", 2, 0.0, 0.5),) * 3
    ),
}
"""A short story that finds each of them; every one keeps all promises without the mutant."""
