"""The last thing a broker does before it stops: it gives what it leads to others, so that no client waits for it."""

from __future__ import annotations

import asyncio
from typing import Final

from ottla.base.errors import ApiError, ClusterError
from ottla.base.log import logger
from ottla.client.errors import ClientError
from ottla.cluster.metadata import Metadata
from ottla.cluster.peers import Peers
from ottla.config.live import LiveSettings
from ottla.controller.controller import Controller
from ottla.controller.elections import Elections
from ottla.protocol.apis.broker_shutdown import BrokerShutdownRequest

log = logger(__name__)

# A cluster without a controller, or without its tree, must not keep a broker from stopping.
_PATIENCE_S: Final = 10.0
_RETRY_S: Final = 0.1


class HandOver:
    """Asks the controller, or is it, to move leaders away from this broker."""

    def __init__(
        self,
        elections: Elections,
        controller: Controller,
        peers: Peers,
        metadata: Metadata,
        settings: LiveSettings,
    ) -> None:
        self._elections = elections
        self._controller = controller
        self._peers = peers
        self._metadata = metadata
        self._settings = settings

    async def __call__(self) -> None:
        """Returns when others lead all that they can, or after a while all the same."""
        image, member = self._metadata.image, self._peers.membership
        if not self._settings.now.replication.controlled_shutdown_enable:
            return
        if len(image.brokers) < 2 or member.broker_id not in image.brokers:
            return
        try:
            async with asyncio.timeout(_PATIENCE_S):
                remaining = await self._keep_asking()
                await self._metadata.refreshed()
                log.info("leaders handed over", broker=member.broker_id, remaining=remaining)
        except (TimeoutError, ClusterError) as failure:
            log.warning("leaders not handed over", broker=member.broker_id, reason=str(failure))

    async def _keep_asking(self) -> int:
        while True:
            try:
                return await self._ask()
            except (ApiError, ClientError, ClusterError) as failure:
                log.info("controller does not answer", reason=str(failure))
                await asyncio.sleep(_RETRY_S)

    async def _ask(self) -> int:
        member = self._peers.membership
        if self._controller.is_active:
            return await self._elections.shut_down(member.broker_id, member.broker_epoch)
        answer = await self._peers.ask_controller(
            BrokerShutdownRequest(broker_id=member.broker_id, broker_epoch=member.broker_epoch)
        )
        if answer.error_code:
            raise ApiError(answer.error_code)
        remaining: int = answer.remaining
        return remaining
