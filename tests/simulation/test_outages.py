"""Outages of a whole site: what was acknowledged is there again, and nobody who cannot know leads in between."""

import asyncio

import pytest

from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.errors import ErrorCode
from tests.simulation.clients import SimCommitter
from tests.simulation.mutants import MUTANTS
from tests.simulation.outages import OUTAGES, tell
from tests.simulation.pace import SHORT
from tests.simulation.story import a_world
from tests.simulation.world import World


@pytest.mark.parametrize("name", OUTAGES)
def test_nothing_acknowledged_is_lost(name: str) -> None:
    assert tell(OUTAGES[name]) == []


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        ("every_process_goes_on_with_its_life", "a_torn_broker_registers_twice"),
        ("any_clean_stop_will_do", "an_old_copy_of_a_disk_is_restored"),
        ("the_last_known_leader_leads", "the_isr_collapses_onto_the_dead"),
        ("who_left_is_forgotten", "the_one_that_left_before_has_what_both_others_have_lost"),
    ],
)
def test_a_broker_without_the_rule_is_found_out(mutant: str, name: str) -> None:
    with MUTANTS[mutant]():
        try:
            found = tell(OUTAGES[name])
        except AssertionError as wrong:
            found = [str(wrong)]
    assert found


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
