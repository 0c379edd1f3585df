"""Keeps this broker registered: whenever its registration is gone, it registers anew.

A registration goes with its session, or because the controller took the broker for dead. Either
way the broker comes back with another epoch, and whoever acts in its name hears of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ottla.base.log import logger
from ottla.cluster.registration import NO_PROOF, Proof, Registration, register_broker
from ottla.cluster.tree import (
    OutcomeUnknown,
    SessionLost,
    SessionState,
    Tree,
    TreeEvent,
    TreeUnavailable,
)
from ottla.cluster.znodes import BrokerNode, broker_path

log = logger(__name__)

_PAUSE_S: Final = 1.0
_NONE: Final = -1

OnRegistered = Callable[[Registration], Awaitable[None]]


class Presence:
    """One broker's registration, for as long as the broker runs."""

    def __init__(
        self,
        tree: Tree,
        broker_id: int,
        describe: Callable[[], BrokerNode],
        directories: Callable[[], Sequence[str]],
        on_registered: OnRegistered,
        proof: Proof = NO_PROOF,
    ) -> None:
        self._tree = tree
        self._broker_id = broker_id
        self._describe = describe
        self._directories = directories
        self._on_registered = on_registered
        self._proof = proof
        self._wake = asyncio.Event()
        self._epoch = _NONE
        self._task: asyncio.Task[None] | None = None
        self._cancels = (
            tree.watch(broker_path(broker_id), self._on_events),
            tree.watch_session(self._on_session),
        )

    async def open(self) -> None:
        """Registers, and begins to look after it; ClusterError if another broker has the id."""
        while not await self._register():
            await self._wake.wait()
            self._wake.clear()
        self._task = asyncio.create_task(self._keep(), name="presence")

    def look_again(self) -> None:
        """The log directories are others than were registered: one has failed."""
        self._wake.set()

    async def close(self) -> None:
        """Lets the registration be; it goes with the session."""
        for cancel in self._cancels:
            cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _on_events(self, events: Sequence[TreeEvent]) -> None:
        self._wake.set()

    def _on_session(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._wake.set()
        elif state is SessionState.LOST:
            # A server that was away itself may take up a session that we had to take for lost, registration and all.
            self._epoch = _NONE

    async def _keep(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._register()
            except SessionLost:
                return
            except Exception as error:  # nobody else would ever bring the broker back
                # Another broker with this id, perhaps: that is for a person to decide.
                log.error("broker not registered", broker=self._broker_id, error=error)
                asyncio.get_running_loop().call_later(_PAUSE_S, self._wake.set)

    async def _register(self) -> bool:
        """Makes sure of the registration; False if the tree is away, which wakes when it is back."""
        try:
            done = await register_broker(
                self._tree, self._broker_id, self._describe(), self._directories(), self._proof
            )
            if done.broker_epoch != self._epoch:
                log.info(
                    "broker registered",
                    broker=done.broker_id,
                    epoch=done.broker_epoch,
                    life=done.life,
                )
                await self._on_registered(done)
                self._epoch = done.broker_epoch
        except (OutcomeUnknown, TreeUnavailable) as error:
            log.info("registration to be tried again", broker=self._broker_id, because=error)
            return False
        return True
