"""A broker whose process is gone is suspected, once it has been seen, and the suspicion runs to its end."""

import asyncio
from typing import Any

from ottla.client.errors import BrokerUnreachable
from ottla.controller.watchdog import Watchdog
from tests.unit.cluster.stories import story

LIFE = (1, 21)


class Line:
    """A connection that lasts until it is cut."""

    def __init__(self) -> None:
        self.cut = asyncio.Event()

    async def lost(self) -> None:
        await self.cut.wait()

    async def close(self) -> None:
        pass


class Peers:
    """Brokers that can be reached or refuse."""

    def __init__(self) -> None:
        self.line: Line | None = None
        self.asked = asyncio.Event()

    async def open(self, broker_id: int) -> Any:
        self.asked.set()
        if self.line is None:
            raise BrokerUnreachable("nothing listens there", refused=True)
        return self.line


class Suspicions:
    """Notes who is suspected; each suspicion takes until it is let go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.ended: list[tuple[int, int]] = []

    async def __call__(self, broker_id: int, epoch: int) -> None:
        self.begun.set()
        await self.go_on.wait()
        self.ended.append((broker_id, epoch))


class Noted:
    """Notes what the watchdog sees before anything is done about it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def connected(self, broker_id: int, connection: Any) -> None:
        self.seen.append(("connected", broker_id))

    def connection_lost(self, broker_id: int, epoch: int) -> None:
        self.seen.append(("lost", broker_id))

    def port_refused(self, broker_id: int, epoch: int) -> None:
        self.seen.append(("refused", broker_id))


async def heard(event: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        await event.wait()
    event.clear()


@story
async def test_one_that_has_never_answered_is_not_suspected() -> None:
    peers, suspicions = Peers(), Suspicions()
    watchdog = Watchdog(peers, Noted(), suspicions)  # type: ignore[arg-type]
    watchdog.watch(dict([LIFE]))
    for _ in range(3):
        await heard(peers.asked)
    assert not suspicions.begun.is_set()
    await watchdog.close()


@story
async def test_a_suspicion_is_not_cut_short_by_what_it_brings_about() -> None:
    peers, suspicions = Peers(), Suspicions()
    peers.line = line = Line()
    noted = Noted()
    watchdog = Watchdog(peers, noted, suspicions)  # type: ignore[arg-type]
    watchdog.watch(dict([LIFE]))
    await heard(peers.asked)
    peers.line = None
    line.cut.set()
    await heard(suspicions.begun)
    assert noted.seen == [("connected", 1), ("lost", 1), ("refused", 1)]
    watchdog.watch({})
    suspicions.go_on.set()
    await asyncio.sleep(0)
    assert suspicions.ended == [LIFE]
    watchdog.watch(dict([LIFE]))
    await heard(suspicions.begun)  # it was seen before, whoever asked then
    await watchdog.close()
