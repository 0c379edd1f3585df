"""Preferred leaders are given back in time, however much else changes."""

import asyncio

from ottla.cluster.image import PartitionImage
from ottla.config.load import load
from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from tests.simulation.clients import TOPIC, Client
from tests.simulation.pace import SHORT
from tests.simulation.story import Story, a_world
from tests.simulation.world import SETTINGS, World

CHECK_S = 5


def test_topics_that_are_made_all_the_time_do_not_put_it_off() -> None:
    with a_world(0, 3, SHORT) as (loop, world):
        rebalance = (
            "auto.leader.rebalance.enable=true",
            f"leader.imbalance.check.interval.seconds={CHECK_S}",
        )
        for host in world.hosts:
            here = (f"log.dirs={host.directory}", f"broker.id={host.number}")
            host._settings = load(None, {}, [*here, *SETTINGS, *SHORT.settings(), *rebalance])
        loop.run_until_complete(_tell(world))


async def _tell(world: World) -> None:
    await Story(world).begin()
    await asyncio.sleep(0.5)
    preferred = _partition(world).replicas[0]
    first = world.hosts[preferred - 1]
    await first.kill()
    await asyncio.sleep(1)
    await first.start()
    assert _partition(world).leader != preferred
    for number in range(4 * CHECK_S):
        topic = CreatableTopic(name=f"another-{number}", num_partitions=1, replication_factor=3)
        client = Client(world)
        await client.ask(1, CreateTopicsRequest(topics=[topic]), 7)
        await asyncio.sleep(0.5)
    assert _partition(world).leader == preferred


def _partition(world: World) -> PartitionImage:
    broker = world.hosts[1].broker or world.hosts[2].broker
    assert broker is not None
    found = broker.metadata.image.partition(TOPIC, 0)
    assert found is not None
    return found
