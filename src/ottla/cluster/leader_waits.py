"""Answers name only leaders that were alive after the question was asked.

A client whose leader was killed asks another broker within a tenth of a millisecond, which is often before that
broker has seen the end of its own connections to the dead one (measured 2026-11-18). So the broker first has each
leader that it is about to name say hello. A leader that cannot is doubted, and the answer waits for the election.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from ottla.base.errors import ApiError
from ottla.client.connection import Connection
from ottla.client.errors import ClientError
from ottla.cluster.image import BrokerImage, Delta, Image
from ottla.cluster.leader_doubts import AWAITED_MS, LeaderDoubts, without_brokers
from ottla.cluster.metadata import Metadata
from ottla.cluster.peers import Peers

SLOW_MS: Final = 200
"""A leader that takes longer for a hello is slow, perhaps stopped: nobody waits for its hellos until one arrives."""
_NOBODY: Final[frozenset[int]] = frozenset()


NamesAny: TypeAlias = Callable[[frozenset[int]], bool]
"""True if an answer would name one of these brokers as a leader."""


class _Held(NamedTuple):
    """An answer that waits, and when it was asked for."""

    asked_ms: float
    names_any: NamesAny
    release: Callable[[], None]


class _Link:
    """The connection to one broker; `proven_ms` is when the newest hello was sent that it has answered."""

    __slots__ = ("asked_ms", "connection", "is_slow", "proven_ms", "task")

    def __init__(self, connection: Connection, now_ms: float) -> None:
        self.connection = connection
        self.proven_ms = now_ms
        self.asked_ms = now_ms
        self.is_slow = False
        self.task: asyncio.Task[None] | None = None


class LeaderWaits:
    """Holds answers until their leaders are known to live or others are elected, for 300 ms at most."""

    def __init__(self, metadata: Metadata, peers: Peers) -> None:
        self._metadata = metadata
        self._peers = peers
        self._loop = asyncio.get_running_loop()
        self._doubts = LeaderDoubts()
        self._links: dict[int, _Link] = {}
        self._held: list[_Held] = []
        self._shown: tuple[Image, frozenset[int], Image] | None = None
        self._doubts.registered(metadata.image.brokers, self._now_ms())
        metadata.subscribe(self._follow)
        metadata.on_published.append(self._review)

    def connected(self, broker_id: int, connection: Connection) -> None:
        """Drop the doubt about a broker that answers, and use the connection for its hellos."""
        self._doubts.answered(broker_id)
        self._links[broker_id] = _Link(connection, self._now_ms())
        self._review()

    def connection_lost(self, broker_id: int, epoch: int) -> None:
        """Doubt a broker: the connection to it has ended."""
        self._links.pop(broker_id, None)
        self._doubts.connection_lost(broker_id, epoch, self._now_ms())

    def port_refused(self, broker_id: int, epoch: int) -> None:
        """Take a broker for dead, for two seconds."""
        self._doubts.port_refused(broker_id, epoch, self._now_ms())

    def hold(self, names_any: NamesAny, release: Callable[[], None]) -> bool:
        """Call `release` once the leaders that an answer names are sure to live; False if they are already."""
        if not self._links and not self._doubts:
            return False
        now_ms = self._now_ms()
        if not names_any(self._unsure(now_ms, now_ms)):
            return False
        for link in self._links.values():
            self._ask(link, now_ms)
        self._held.append(_Held(now_ms, names_any, release))
        self._loop.call_later(AWAITED_MS / 1000, self._review)
        return True

    def image(self) -> Image:
        """Return the newest image, without brokers whose port has just refused."""
        newest = self._metadata.image
        hidden = self._doubts.hidden(self._now_ms()) if self._doubts else _NOBODY
        if not hidden:
            return newest
        # The same object for the same question: encoded topics are cached by the identity of its brokers.
        if self._shown is None or self._shown[0] is not newest or self._shown[1] != hidden:
            self._shown = newest, hidden, without_brokers(newest, hidden)
        return self._shown[2]

    def departed(self) -> list[BrokerImage]:
        """Return the brokers that left lately: clients that still know them are told of them."""
        return self._doubts.departed(self._now_ms()) if self._doubts else []

    def _follow(self, image: Image, delta: Delta) -> None:
        if delta.brokers:
            self._doubts.registered(image.brokers, self._now_ms())

    def _unsure(self, asked_ms: float, now_ms: float) -> frozenset[int]:
        """Brokers that are doubted, or have not proven to live since an answer was asked for."""
        silent = {b for b, k in self._links.items() if k.proven_ms < asked_ms and not k.is_slow}
        return self._doubts.awaited(now_ms).union(silent)

    def _review(self) -> None:
        if not self._held:
            return
        now_ms = self._now_ms()
        held, self._held = self._held, []
        for each in held:
            # The timer may ring a little early.
            is_over = now_ms > each.asked_ms + AWAITED_MS - 1
            if not is_over and each.names_any(self._unsure(each.asked_ms, now_ms)):
                self._held.append(each)
            else:
                each.release()

    def _ask(self, link: _Link, now_ms: float) -> None:
        """Have a broker say hello, unless it is asked already: then it is asked again afterwards."""
        link.asked_ms = now_ms
        if link.task is None or link.task.done():
            link.task = asyncio.create_task(self._prove(link))

    async def _prove(self, link: _Link) -> None:
        while link.proven_ms < link.asked_ms:
            sent_ms = self._now_ms()
            slow = self._loop.call_later(SLOW_MS / 1000, self._found_slow, link)
            try:
                await self._peers.say_hello(link.connection)
            except (ClientError, ApiError):
                return  # the watchdog sees the end of the connection too, and doubts the broker
            finally:
                slow.cancel()
            link.proven_ms, link.is_slow = sent_ms, False
            self._review()

    def _found_slow(self, link: _Link) -> None:
        link.is_slow = True
        self._review()

    def _now_ms(self) -> float:
        # Not the time of day: nobody waits longer because somebody set the clock.
        return self._loop.time() * 1000
