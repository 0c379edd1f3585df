"""Replicas leave a broker and come back: a log that is made anew has nothing to do with the one before it."""

import asyncio

from ottla.cluster.image import PartitionImage
from ottla.protocol.apis.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.simulation.clients import TOPIC, Client, Failed
from tests.simulation.world import Host, World

_PATIENCE_S = 2.0


async def leave_and_return(world: World, host: Host, lasts: float) -> None:
    """One broker has no replica for a while, or for a moment: then fetches of its old ones are still on their way."""
    everywhere = [each.number for each in world.hosts]
    elsewhere = [number for number in everywhere if number != host.number]
    if not await _settle_on(world, elsewhere):
        return
    await asyncio.sleep(world.rng.choice((0, 0, lasts)))
    await _settle_on(world, world.rng.sample(everywhere, len(everywhere)))


async def spread_again(world: World) -> None:
    """What is not on all brokers, or about to leave one, is to be on all of them."""
    if any(len(each.replicas) < len(world.hosts) or each.removing for each in _placed(world)):
        await _ask(world, [each.number for each in world.hosts])


async def _settle_on(world: World, replicas: list[int]) -> bool:
    """Whether all partitions are on these replicas and no others, within a while."""
    if not await _ask(world, replicas):
        return False
    until = asyncio.get_running_loop().time() + _PATIENCE_S
    while asyncio.get_running_loop().time() < until:
        if all(list(each.replicas) == replicas and not each.adding for each in _placed(world)):
            world.tell(f"replicas are on {replicas}")
            return True
        await asyncio.sleep(0.001)
    world.tell(f"replicas are not on {replicas} yet")
    return False


async def _ask(world: World, replicas: list[int]) -> bool:
    partitions = [
        ReassignablePartition(partition_index=number, replicas=list(replicas))
        for number in range(world.pace.partitions)
    ]
    topic = ReassignableTopic(name=TOPIC, partitions=partitions)
    asked = world.rng.choice(world.hosts).number
    try:
        await Client(world).ask(asked, AlterPartitionReassignmentsRequest(topics=[topic]), 1)
    except Failed as failure:
        world.tell(f"no move to {replicas}: {failure}")
        return False
    return True


def _placed(world: World) -> list[PartitionImage]:
    """The partitions as a broker that runs sees them, the one that knows most."""
    images = [host.broker.metadata.image for host in world.hosts if host.broker is not None]
    topics = [image.topics[TOPIC] for image in images if TOPIC in image.topics]
    newest = max(topics, key=lambda topic: topic.version, default=None)
    return [] if newest is None else list(newest.partitions)
