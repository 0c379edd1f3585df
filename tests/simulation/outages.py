"""Outages of a whole site, told step by step: what was acknowledged is there again while one disk still has it."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Final

from tests.simulation.checks import compare_replicas, final_reads, heal
from tests.simulation.clients import TOPIC, SimProducer, SimReader
from tests.simulation.pace import SHORT
from tests.simulation.story import Story, a_world
from tests.simulation.world import Host, World

RECORDS: Final = 12
_A_WHILE_S: Final = 0.6
BEYOND_THE_SESSION_S: Final = 2 * SHORT.session_timeout_s

Outage = Callable[["Site"], Awaitable[None]]


class Site:
    """Three brokers, a producer, and somebody who pulls plugs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.producer = SimProducer(world, 0, 0)
        self.first, self.second, self.third = world.hosts

    async def write(self, records: int = RECORDS) -> None:
        """Have records acknowledged; what is already there stays."""
        wanted = len(self.producer.acked) + records
        writing = asyncio.create_task(self.producer.run())
        for _ in range(2000):
            if len(self.producer.acked) >= wanted:
                break
            await asyncio.sleep(0.01)
        writing.cancel()
        assert len(self.producer.acked) >= wanted, "the cluster takes no writes"
        await asyncio.sleep(0.1)

    async def lose_power(self) -> None:
        for host in self.world.alive():
            await host.kill()

    async def back(self, *hosts: Host, pause_s: float = _A_WHILE_S) -> None:
        """Brokers return, one after the other."""
        for host in hosts:
            await host.start()
            await asyncio.sleep(pause_s)

    def controller(self) -> Host:
        broker = self.world.alive()[0].broker
        assert broker is not None
        return self.world.hosts[broker.metadata.image.controller_id - 1]

    def others(self, host: Host) -> list[Host]:
        return [each for each in self.world.hosts if each is not host]

    def leads(self) -> int:
        """Who leads the partition, as the brokers that run know; -1: nobody."""
        brokers = [host.broker for host in self.world.alive() if host.broker is not None]
        found = [broker.metadata.image.partition(TOPIC, 0) for broker in brokers]
        return max((each.leader for each in found if each is not None), default=-1)


async def the_first_one_back_has_an_empty_disk(site: Site) -> None:
    """Finding 1: nobody sound was there, and saying so made whoever was there look sound."""
    await site.lose_power()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    site.first.wipe()
    await site.back(site.first, site.second, site.third)


async def the_first_one_back_has_lost_its_tail(site: Site) -> None:
    """Finding 1 again: a torn tail in place of an empty disk."""
    await site.lose_power()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    site.first.tear(300)
    await site.back(site.first, site.second, site.third)


async def the_isr_collapses_onto_the_dead(site: Site) -> None:
    """Finding 2: all return within the session, the controller first; it alone has an intact disk."""
    first = site.controller()
    await site.lose_power()
    for other in site.others(first):
        other.tear(300)
    await site.back(first, *site.others(first), pause_s=SHORT.session_timeout_s / 4)


async def a_torn_broker_registers_twice(site: Site) -> None:
    """Finding 3: its session is lost before a controller has looked."""
    await site.lose_power()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    site.first.tear(300)
    await site.first.start(registrations=2)
    await asyncio.sleep(_A_WHILE_S)
    await site.back(site.second, site.third)


async def an_old_copy_of_a_disk_is_restored(site: Site) -> None:
    """Finding 3 again: its clean-shutdown file tells of a stop that was not the last."""
    await site.first.stop()
    copy = site.first.copy()
    await site.back(site.first)
    await site.write()
    await site.lose_power()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    site.first.restore(copy)
    await site.back(site.first, site.second, site.third)


async def one_after_the_other_and_the_last_two_are_damaged(site: Site) -> None:
    """The one that died first has what the others have lost: they wait for it."""
    third, second = site.others(site.first)
    await site.first.kill()
    for host in (third, second):
        await host.kill()
    third.wipe()
    second.tear(400)
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.back(third, second, site.first)


async def the_one_that_left_before_has_what_both_others_have_lost(site: Site) -> None:
    """The others had gone on without it, and wait for it all the same, for both have lost more than that."""
    await site.first.kill()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.lose_power()
    site.second.wipe()
    site.third.wipe()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.back(site.second, site.third)
    assert site.leads() < 0, "the one that is away holds more"
    await site.back(site.first)


async def two_disks_are_empty(site: Site) -> None:
    """The intact one comes last, and beyond the session."""
    await site.lose_power()
    site.first.wipe()
    site.second.wipe()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.back(site.first, site.second, pause_s=BEYOND_THE_SESSION_S)
    assert site.leads() < 0, "nobody who is there can know"
    await site.back(site.third)


async def one_is_gone_for_good(site: Site) -> None:
    """What it may hold is known when the others have gone on without it: they need not wait for it."""
    await site.third.kill()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.lose_power()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.back(site.first, site.second)
    assert site.leads() > 0, "both that were in sync are back"
    await site.write()


async def the_disk_of_a_leader_fails(site: Site) -> None:
    """It stops by itself, and others lead: before, it went on to lead and nothing was acknowledged any more."""
    leader = site.world.hosts[site.leads() - 1]
    site.world.disks.break_below(leader.directory)
    await site.write()
    assert not leader.running
    assert leader.stopping is not None
    await leader.stopping
    site.world.disks.mend_below(leader.directory)
    await site.lose_power()
    await asyncio.sleep(BEYOND_THE_SESSION_S)
    await site.back(leader, *site.others(leader))


OUTAGES: Final[dict[str, Outage]] = {
    each.__name__: each
    for each in (
        the_first_one_back_has_an_empty_disk,
        the_first_one_back_has_lost_its_tail,
        the_isr_collapses_onto_the_dead,
        a_torn_broker_registers_twice,
        an_old_copy_of_a_disk_is_restored,
        one_after_the_other_and_the_last_two_are_damaged,
        the_one_that_left_before_has_what_both_others_have_lost,
        two_disks_are_empty,
        one_is_gone_for_good,
        the_disk_of_a_leader_fails,
    )
}


def tell(outage: Outage, seed: int = 0) -> list[str]:
    """What is wrong when everybody is back."""
    with a_world(seed, 3, SHORT) as (loop, world):
        return loop.run_until_complete(_tell(Site(world), outage)) + loop.failures


async def _tell(site: Site, outage: Outage) -> list[str]:
    await Story(site.world).begin()
    await site.write()
    await outage(site)
    found = await heal(site.world)
    if not found:
        reader = SimReader(site.world, 0)
        found = await final_reads([site.producer], [reader]) + site.producer.anomalies
    return found or compare_replicas(site.world)


if __name__ == "__main__":
    logging.disable(logging.INFO if "-v" in sys.argv else logging.CRITICAL)
    for name in [each for each in sys.argv[1:] if each in OUTAGES] or OUTAGES:
        wrong = tell(OUTAGES[name])
        print(name, "ok" if not wrong else f"{len(wrong)} anomalies: {wrong[0][:300]}")
