"""Keeps the cluster led: becomes the controller when there is none, and then looks after leaders and the dead.

Every broker runs it and watches over all others. A broker that is not the controller acts on the controller's death
alone, and takes its place at once; all else waits for sessions to end. One task acts, on the newest image, one step
after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ottla.base.errors import ApiError, ClusterError
from ottla.base.log import logger
from ottla.base.tasks import note_failure
from ottla.cluster.image import Delta, Image
from ottla.cluster.leader_waits import LeaderWaits
from ottla.cluster.membership import Membership
from ottla.cluster.metadata import Metadata
from ottla.cluster.peers import Peers
from ottla.cluster.tree import SessionState
from ottla.config.live import LiveSettings
from ottla.controller.controller import Controller
from ottla.controller.elections import Elections
from ottla.controller.watchdog import Watchdog

log = logger(__name__)

_RETRY_S: Final = 0.1
_PAUSE_S: Final = 1.0
"""After a failure that nobody foresaw."""


class ControllerLoop:
    """This broker's part in running the cluster."""

    def __init__(
        self,
        controller: Controller,
        elections: Elections,
        metadata: Metadata,
        leader_waits: LeaderWaits,
        peers: Peers,
        settings: LiveSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._controller = controller
        self._elections = elections
        self._metadata = metadata
        self._membership: Membership = peers.membership
        self._settings = settings
        self._now_ms = now_ms
        self._session_timeout_ms = settings.now.zookeeper.session_timeout_ms
        self._watchdog = Watchdog(peers, leader_waits, self._suspect)
        self._wake = asyncio.Event()
        self._wake.set()
        self._patient_until_ms = 0
        # When preferred leaders were given back last, by the clock of the event loop.
        self._checked_at = 0.0
        elections.ends.on_answer = self._wake.set
        metadata.subscribe(self._changed)
        metadata.tree.watch_session(self._session_changed)

    async def run(self) -> None:
        """Act on every change, and now and then on none."""
        self._checked_at = asyncio.get_running_loop().time()
        try:
            while True:
                await self._wait()
                try:
                    await self._act()
                except (ClusterError, ApiError) as failure:
                    log.info("cluster not settled yet", reason=str(failure))
                    await asyncio.sleep(_RETRY_S)
                    self._wake.set()
                except Exception:  # nobody else would look after the cluster
                    note_failure("controller")
                    await asyncio.sleep(_PAUSE_S)
                    self._wake.set()
        finally:
            await self._watchdog.close()
            await self._elections.ends.close()

    async def _wait(self) -> None:
        """Wait for a change, or for the time of the next check of preferred leaders: changes do not put that off."""
        loop = asyncio.get_running_loop()
        interval = self._settings.now.replication.leader_imbalance_check_interval_seconds
        due = self._checked_at + interval
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        if loop.time() >= due:
            self._checked_at = loop.time()
            await self._give_back()
        self._wake.clear()

    def _changed(self, image: Image, delta: Delta) -> None:
        if delta.brokers or delta.controller or delta.topics:
            self._wake.set()

    def _session_changed(self, state: SessionState) -> None:
        # Without a connection another may have been elected: nothing is decided until it is back.
        if state is not SessionState.CONNECTED:
            self._controller.step_down()
        self._wake.set()

    async def _act(self) -> None:
        image, me = self._metadata.image, self._membership.broker_id
        if self._metadata.tree.state is not SessionState.CONNECTED or me not in image.brokers:
            self._watchdog.watch({})
            return
        if image.controller_id != me:
            self._controller.step_down()
        if image.controller_id < 0 or (image.controller_id == me and not self._is_active()):
            await self._become_controller(None if image.controller_id < 0 else me)
        if self._is_active():
            await self._controller.complete_partitions()
            await self._elections.settle(is_patient=self._now_ms() < self._patient_until_ms)
            await self._elections.complete_moves()
        self._watch()

    def _is_active(self) -> bool:
        return self._controller.is_active

    async def _become_controller(self, instead_of: int | None) -> None:
        if not await self._controller.elect(self._now_ms(), instead_of=instead_of):
            return
        await self._controller.fix_cluster_settings()
        if self._all_are_new() and self._missing():
            # After an outage in which every session ended, brokers that were in sync have time to come back, before
            # others lead uncleanly where that is allowed.
            self._patient_until_ms = self._now_ms() + self._session_timeout_ms
            patience_s = self._session_timeout_ms / 1000
            asyncio.get_running_loop().call_later(patience_s, self._wake.set)
            log.info("brokers that were in sync are missing", missing=sorted(self._missing()))

    def _all_are_new(self) -> bool:
        """Whether everybody registered after the last change of any partition: nobody was there all the time."""
        image = self._metadata.image
        newest = max((p.zxid for t in image.topics.values() for p in t.partitions), default=0)
        return all(broker.epoch > newest for broker in image.brokers.values())

    def _missing(self) -> set[int]:
        image = self._metadata.image
        return {
            member
            for topic in image.topics.values()
            for partition in topic.partitions
            for member in partition.isr
            if member not in image.brokers
        }

    def _watch(self) -> None:
        """Everybody watches over everybody: who sees a leader die names it to no client."""
        image, me = self._metadata.image, self._membership.broker_id
        self._watchdog.watch({each: b.epoch for each, b in image.brokers.items() if each != me})

    async def _suspect(self, broker_id: int, epoch: int) -> None:
        """Remove a dead broker from the tree, as controller or in the dead controller's place."""
        try:
            if not self._is_active() and self._metadata.image.controller_id == broker_id:
                await self._controller.elect(self._now_ms(), instead_of=broker_id)
            if self._is_active():
                await self._elections.bury(broker_id, epoch)
        except (ClusterError, ApiError) as failure:
            log.info("dead broker not removed", broker=broker_id, reason=str(failure))
        self._wake.set()

    async def _give_back(self) -> None:
        if self._is_active() and self._settings.now.replication.auto_leader_rebalance_enable:
            try:
                await self._elections.prefer()
            except (ClusterError, ApiError) as failure:
                log.info("leaders not given back", reason=str(failure))
