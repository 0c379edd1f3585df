"""Notices at once when the process of a broker dies: its connection drops, and nobody listens there any more.

A broker that cannot be reached for any other reason is left to its session: only a process that was there, and whose
port now refuses, is surely gone. Even then it is the tree that decides (`Elections.bury`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.log import logger
from ottla.client.errors import BrokerUnreachable, ClientError
from ottla.cluster.peers import Peers

log = logger(__name__)

Suspect = Callable[[int, int], Awaitable[None]]

_RETRY_S: Final = 0.1


class Watchdog:
    """Keeps a connection to each broker that it watches over."""

    def __init__(self, peers: Peers, suspect: Suspect) -> None:
        self._peers = peers
        self._suspect = suspect
        self._watched: dict[tuple[int, int], asyncio.Task[None]] = {}

    def watch(self, brokers: Mapping[int, int]) -> None:
        """Watch over these brokers, in the lives that their epochs name, and over no others."""
        wanted = set(brokers.items())
        for life in set(self._watched) - wanted:
            self._watched.pop(life).cancel()
        for life in wanted - set(self._watched):
            self._watched[life] = asyncio.create_task(self._watch(*life), name=f"watch {life}")

    async def close(self) -> None:
        """Watch over nobody any more."""
        watched = tuple(self._watched.values())
        self.watch({})
        await asyncio.gather(*watched, return_exceptions=True)

    async def _watch(self, broker_id: int, epoch: int) -> None:
        seen = False
        while True:
            try:
                connection = await self._peers.open(broker_id)
            except BrokerUnreachable as failure:
                if seen and failure.refused:
                    log.warning("broker is dead", broker=broker_id, epoch=epoch)
                    await self._suspect(broker_id, epoch)
            except (ClientError, ApiError) as failure:
                log.info("broker not reached", broker=broker_id, reason=str(failure))
            else:
                seen = True
                try:
                    await connection.lost()
                finally:
                    await connection.close()
                continue
            await asyncio.sleep(_RETRY_S)
