"""Notices at once when the process of a broker dies: its connection drops, and nobody listens there any more.

A broker that cannot be reached for any other reason is left to its session: only a process that was there, and whose
port now refuses, is surely gone. Even then it is the tree that decides (`Elections.bury`); only clients that ask who
leads are kept waiting meanwhile (`cluster/leader_waits.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from ottla.base.errors import ApiError
from ottla.base.log import logger
from ottla.client.connection import Connection
from ottla.client.errors import BrokerUnreachable, ClientError
from ottla.cluster.peers import Peers

log = logger(__name__)

Life = tuple[int, int]
"""A broker by its id, and the epoch of one registration of it."""
Suspect = Callable[[int, int], Awaitable[None]]

# The kernel accepts connections for a dying process until it closes the listening socket, and resets them then: the
# first attempts follow fast, so that the refusal is seen within milliseconds.
_RETRIES_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


class Observer(Protocol):
    """Is told what connections say about a broker before the tree does."""

    def connection_lost(self, broker_id: int, epoch: int) -> None:
        """The connection to a broker has ended."""

    def port_refused(self, broker_id: int, epoch: int) -> None:
        """Nobody listens on the port of a broker that has answered before."""

    def connected(self, broker_id: int, connection: Connection) -> None:
        """A broker has answered on a new connection."""


class Watchdog:
    """Keeps a connection to each broker that it watches over."""

    def __init__(self, peers: Peers, observer: Observer, suspect: Suspect) -> None:
        self._peers = peers
        self._observer = observer
        self._suspect = suspect
        self._watched: dict[Life, asyncio.Task[None]] = {}
        self._suspected: dict[Life, asyncio.Task[None]] = {}
        # The life in which each broker has answered: it registers before it listens, so a refusal alone says nothing.
        self._seen: dict[int, int] = {}

    def watch(self, brokers: Mapping[int, int]) -> None:
        """Watch over these brokers, in the lives that their epochs name, and over no others."""
        wanted = set(brokers.items())
        for life in set(self._watched) - wanted:
            task = self._watched.pop(life)
            # Who is suspected is no longer watched as soon as the suspicion has some effect: it must have all of it.
            if life not in self._suspected:
                task.cancel()
        for life in wanted - set(self._watched) - set(self._suspected):
            self._watched[life] = asyncio.create_task(self._watch(life), name=f"watch {life}")

    async def close(self) -> None:
        """Watch over nobody any more."""
        tasks = {*self._watched.values(), *self._suspected.values()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, life: Life) -> None:
        broker_id, epoch = life
        retries, is_known_dead = iter(_RETRIES_S), False
        while True:
            try:
                connection = await self._peers.open(broker_id)
            except BrokerUnreachable as failure:
                if failure.refused and self._seen.get(broker_id) == epoch:
                    if not is_known_dead:
                        log.warning("broker is dead", broker=broker_id, epoch=epoch)
                    is_known_dead = True
                    self._observer.port_refused(broker_id, epoch)
                    await self._tell(life)
            except (ClientError, ApiError) as failure:
                log.info("broker not reached", broker=broker_id, reason=str(failure))
            else:
                self._seen[broker_id] = epoch
                self._observer.connected(broker_id, connection)
                try:
                    await connection.lost()
                    self._observer.connection_lost(broker_id, epoch)
                finally:
                    await connection.close()
                retries, is_known_dead = iter(_RETRIES_S), False
                continue
            if self._watched.get(life) is not asyncio.current_task():
                return  # nobody wants to know any more
            await asyncio.sleep(next(retries, _RETRIES_S[-1]))

    async def _tell(self, life: Life) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._suspected[life] = task
        try:
            await self._suspect(*life)
        finally:
            del self._suspected[life]
