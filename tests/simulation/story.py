"""One story: a seed, a cluster under load, faults, and what must be true in the end."""

import asyncio
import gc
import random
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch
from uuid import UUID

from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from tests.simulation.checks import compare_replicas, final_reads, heal
from tests.simulation.clients import TOPIC, Client, SimCommitter, SimProducer, SimReader
from tests.simulation.faults import fault
from tests.simulation.pace import Pace
from tests.simulation.virtual_loop import VirtualLoop
from tests.simulation.world import World


class Told(NamedTuple):
    """How a story ended."""

    seed: int
    anomalies: list[str]
    story: list[str]
    acked: int
    seconds: float
    events: int


def tell(first: int, last: int, pace: Pace) -> Iterator[Told]:
    """The stories of these seeds.

    To set up a world takes as long as a short story, so several are told of one world, each beginning where the one
    before it ended well. A seed is told after those that share its world: its story is the same whenever it is told.
    """
    seed = first - first % pace.stories
    while seed < last:
        end = min(last, seed - seed % pace.stories + pace.stories)
        with a_world(seed, 3, pace) as (loop, world):
            story = Story(world)
            loop.run_until_complete(story.begin())
            has_ended_well = True
            while has_ended_well and seed < end:
                told = loop.run_until_complete(story.go_on(seed))
                has_ended_well = not told.anomalies
                if seed >= first:
                    yield told
                seed += 1


@contextmanager
def a_world(seed: int, hosts: int, pace: Pace) -> Iterator[tuple[VirtualLoop, World]]:
    """A time, a network and disks of their own; nothing is left of them afterwards."""
    loop = VirtualLoop()
    world = World(seed, hosts, pace)
    loop.connect = world.network.connect
    random.seed(seed)
    drawn = lambda: UUID(int=world.rng.getrandbits(128), version=4)  # noqa: E731
    # Left to itself the collector would look for garbage all the time; a world is garbage when it ends.
    gc.disable()
    try:
        asyncio.set_event_loop(loop)
        with patch.object(uuid, "uuid4", drawn), world.disks.mounted():
            yield loop, world
            for host in world.alive():
                loop.run_until_complete(host.kill())
    finally:
        asyncio.set_event_loop(None)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        gc.enable()
        gc.collect()


class Story:
    """A cluster of three and those who use it."""

    def __init__(self, world: World) -> None:
        self._world = world
        partitions = range(world.pace.partitions)
        self._producers = [
            SimProducer(world, number, number % len(partitions))
            for number in range(world.pace.producers)
        ]
        self._readers = [SimReader(world, each) for each in partitions]
        self._committer = SimCommitter(world)

    async def begin(self) -> None:
        """All is well."""
        for host in self._world.hosts:
            await host.start()
        await _create_topic(self._world)

    async def go_on(self, seed: int) -> Told:
        """Things go wrong while everybody is busy, and get well again."""
        world, loop = self._world, asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        random.seed(seed)
        world.rng.seed(seed)
        began_s, before = loop.time(), loop.events
        world.tell(f"seed {seed}")
        try:
            await self._suffer(lambda: loop.events - before)
            anomalies = await heal(world) or await self._look_back()
        except Exception:
            anomalies = [traceback.format_exc()]
        anomalies += loop.failures
        acked = sum(len(each.acked) for each in self._producers)
        lasted_s, events = loop.time() - began_s, loop.events - before
        return Told(seed, anomalies, list(world.story), acked, lasted_s, events)

    async def _suffer(self, events: Callable[[], int]) -> None:
        """One fault after the other, in which clients go on as well as they can, and until enough has happened."""
        world, pace = self._world, self._world.pace
        clients = (*self._producers, *self._readers, self._committer)
        running = [asyncio.create_task(each.run()) for each in clients]
        await asyncio.sleep(pace.between_s)
        for _ in range(pace.faults):
            await fault(world)
            await asyncio.sleep(world.rng.uniform(pace.between_s / 30, pace.between_s))
        while events() < pace.events:
            await asyncio.sleep(pace.between_s / 10)
        for client in running:
            client.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _look_back(self) -> list[str]:
        """What was seen, and what is there now that nobody writes any more."""
        found = await final_reads(self._producers, self._readers)
        for each in (*self._producers, *self._readers, self._committer):
            found += each.anomalies
        return found + compare_replicas(self._world)


async def _create_topic(world: World) -> None:
    while not all(
        host.broker and len(host.broker.metadata.image.brokers) == 3 for host in world.hosts
    ):
        await asyncio.sleep(0.01)
    client = Client(world)
    count = world.pace.partitions
    topic = CreatableTopic(name=TOPIC, num_partitions=count, replication_factor=3)
    answer = await client.ask(1, CreateTopicsRequest(topics=[topic]), 7)
    assert answer.topics[0].error_code == 0, answer
