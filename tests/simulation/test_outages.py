"""Outages of a whole site: what was acknowledged is there again, and nobody who cannot know leads in between."""

import asyncio

import pytest

from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.errors import ErrorCode
from tests.simulation.clients import SimCommitter
from tests.simulation.outages import OUTAGES, tell
from tests.simulation.pace import SHORT
from tests.simulation.story import a_world
from tests.simulation.world import World


@pytest.mark.parametrize("name", OUTAGES)
def test_nothing_acknowledged_is_lost(name: str) -> None:
    assert tell(OUTAGES[name]) == []


def test_coordinators_wait_for_enough_brokers() -> None:
    """KIP-115: their topics had one replica for ever when a client came before the other brokers."""
    with a_world(0, 3, SHORT) as (loop, world):
        loop.run_until_complete(_coordinators_wait(world))


async def _coordinators_wait(world: World) -> None:
    committer = SimCommitter(world)
    first, *others = world.hosts
    find = FindCoordinatorRequest(coordinator_keys=[committer.GROUP])
    await first.start()
    [refused] = (await committer.ask(1, find, 4)).coordinators
    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    for host in others:
        await host.start()
    assert first.broker is not None
    image = first.broker.metadata.image
    while (placed := image.partition("__consumer_offsets", 0)) is None:
        await asyncio.sleep(0.1)
        await committer.ask(1, find, 4)
        image = first.broker.metadata.image
    assert sorted(placed.replicas) == [1, 2, 3]
