"""One story of the model: programs run, a plan goes wrong, the cluster heals, the promises are looked at."""

import asyncio
import logging
import types
from collections import Counter
from contextlib import ExitStack, suppress
from typing import Any
from unittest.mock import patch

import ottla
from ottla import AsyncConsumer, TopicPartition
from ottla.client import consuming, producing
from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.apis.elect_leaders import ElectLeadersRequest
from tests.client_model.plan import WORKERS, Event, Plan
from tests.client_model.programs import COMMON, GROUP, PARTITIONS, SINK, SOURCE, Copier, Feeder
from tests.simulation.clients import Client, Failed
from tests.simulation.network import HERE
from tests.simulation.pace import SHORT, Pace
from tests.simulation.story import a_world
from tests.simulation.virtual_loop import VirtualLoop
from tests.simulation.world import START_MS, World

PATIENCE_S = 60.0
"""Virtual seconds that everything may take to be copied once nothing goes wrong any more."""
LONGEST_STORY_S = 400.0


class ClientPace(Pace):
    """Brokers that notice soon that a member, or a transaction, is gone."""

    __slots__ = ()

    def settings(self) -> tuple[str, ...]:
        return (
            *super().settings(),
            "transaction.state.log.num.partitions=1",
            "group.initial.rebalance.delay.ms=0",
            "group.min.session.timeout.ms=300",
            "group.consumer.min.session.timeout.ms=300",
            "group.consumer.session.timeout.ms=800",
            "group.consumer.min.heartbeat.interval.ms=50",
            "group.consumer.heartbeat.interval.ms=100",
        )


class BrokenPromise(AssertionError):
    """The clients did not do what they promise."""


def tell(plan: Plan) -> None:
    """Run the story of a plan; BrokenPromise says what came of it."""
    logging.disable(logging.CRITICAL)
    with a_world(plan.seed, 3, ClientPace(*SHORT)) as (loop, world), ExitStack() as patches:
        clock = types.SimpleNamespace(
            monotonic=loop.time, time=lambda: START_MS / 1000 + loop.time()
        )
        for module in (consuming, producing):
            patches.enter_context(patch.object(module, "time", clock))
        try:
            story = _Story(world, loop, plan).run()
            loop.run_until_complete(asyncio.wait_for(story, LONGEST_STORY_S))
        except TimeoutError:
            raise BrokenPromise(f"not over after {LONGEST_STORY_S:g} s of its time") from None
        finally:
            logging.disable(logging.NOTSET)


class _Story:
    def __init__(self, world: World, loop: VirtualLoop, plan: Plan) -> None:
        self._world = world
        self._loop = loop
        self._plan = plan
        self._feeder = Feeder()
        self._copiers = [Copier(number, plan.protocol) for number in range(WORKERS)]

    async def run(self) -> None:
        await self._begin()
        feeding = asyncio.create_task(self._feeder.run())
        copying = [asyncio.create_task(each.run()) for each in self._copiers]
        try:
            await asyncio.sleep(0.5)
            for event in self._plan.events:
                await asyncio.sleep(event.after_s)
                await self._happen(event)
            await asyncio.sleep(0.05)
            feeding.cancel()
            await self._feeder.close()
            await self._until_copied()
        finally:
            for task in (feeding, *copying):
                task.cancel()
            await asyncio.wait([feeding, *copying])
        while True:
            with suppress(ottla.ClientError):
                source, sink = await self._contents()
                break
        self._check_copies(source, sink)

    async def _begin(self) -> None:
        for host in self._world.hosts:
            await host.start()
        client = Client(self._world)
        for name, count in ((SOURCE, PARTITIONS), (SINK, 1)):
            topic = CreatableTopic(name=name, num_partitions=count, replication_factor=3)
            while True:
                with suppress(Failed):
                    answer = await client.ask(1, CreateTopicsRequest(topics=[topic]), 7)
                    if answer.topics[0].error_code == 0:
                        break
                await asyncio.sleep(0.05)

    async def _happen(self, event: Event) -> None:
        world, network = self._world, self._world.network
        host = world.hosts[event.whom]
        copier = self._copiers[event.whom % WORKERS]
        if event.kind in ("stall", "stall in transaction"):
            copier.stalls[event.kind] = event.lasts_s
        elif event.kind == "cancel":
            if copier.step is not None:
                copier.step.cancel()
        elif event.kind == "cancel while partitions leave":
            for _ in range(int(event.lasts_s * 100)):
                if copier.is_letting_go and copier.step is not None:
                    copier.step.cancel()
                    return
                await asyncio.sleep(0.01)
        elif event.kind == "freeze":
            network.cuts |= (cuts := self._links(copier.host, both=True))
            await asyncio.sleep(event.lasts_s)
            network.cuts -= cuts
        elif event.kind == "lose answers":
            whom = "feeder" if event.whom == 2 else copier.host
            network.cuts |= (cuts := self._links(whom, both=False))
            await asyncio.sleep(event.lasts_s)
            network.cuts -= cuts
        elif event.kind == "reset":
            network.reset_some(host.name)
        elif event.kind == "kill":
            await host.kill()
            await asyncio.sleep(event.lasts_s)
            await host.start()
        elif event.kind == "elect":
            with suppress(Failed):
                elect = ElectLeadersRequest(topic_partitions=None)
                await Client(world).ask(host.number, elect, 2)

    def _links(self, whom: str, *, both: bool) -> set[tuple[str, str]]:
        links = {(host.name, whom) for host in self._world.hosts}
        return links | {(whom, host.name) for host in self._world.hosts} if both else links

    # --- looking back

    async def _until_copied(self) -> None:
        deadline = self._loop.time() + PATIENCE_S
        partitions = [TopicPartition(SOURCE, n) for n in range(PARTITIONS)]
        HERE.set("observer")
        async with AsyncConsumer({}, **COMMON, group_id=GROUP) as observer:
            while self._loop.time() < deadline:
                with suppress(ottla.OttlaError):
                    ends = await observer.end_offsets(partitions)
                    committed = await observer.committed(partitions)
                    at = {each: found.offset if found else 0 for each, found in committed.items()}
                    if at == ends and self._shares() == [1] * WORKERS:
                        return
                await asyncio.sleep(0.2)
        raise BrokenPromise(
            f"after {PATIENCE_S:g} s without faults {at} of {ends} is committed, members own {self._shares()}; "
            f"the copiers began anew {[each.restarts for each in self._copiers]} times"
        )

    def _shares(self) -> list[int]:
        """How many partitions each member reads."""
        return [len(each.consumer.assignment()) for each in self._copiers if each.consumer]

    async def _contents(self) -> tuple[list[int], list[int]]:
        """All numbers in the source, and all that are committed in the sink."""
        HERE.set("observer")
        found = []
        for topic, count in ((SOURCE, PARTITIONS), (SINK, 1)):
            partitions = [TopicPartition(topic, n) for n in range(count)]
            settings: dict[str, Any] = {**COMMON, "isolation_level": "read_committed"}
            await self._until_decided(partitions)
            async with AsyncConsumer({}, **settings, auto_offset_reset="earliest") as reader:
                await reader.assign(partitions)
                ends = await reader.end_offsets(partitions)
                values: list[int] = []
                while any([await reader.position(each) < ends[each] for each in partitions]):
                    values += [int(record.value) for record in await reader.poll(0.2)]
            found.append(values)
        return found[0], found[1]

    async def _until_decided(self, partitions: list[TopicPartition]) -> None:
        """A transaction that its program left open is aborted by its coordinator in time."""
        deadline = self._loop.time() + PATIENCE_S
        committed = {**COMMON, "isolation_level": "read_committed"}
        async with AsyncConsumer({}, **COMMON) as one, AsyncConsumer({}, **committed) as other:
            while await one.end_offsets(partitions) != await other.end_offsets(partitions):
                if self._loop.time() > deadline:
                    raise BrokenPromise(f"a transaction in {partitions} is open for good")
                await asyncio.sleep(0.5)

    def _check_copies(self, source: list[int], sink: list[int]) -> None:
        if unsettled := [n for n, each in self._feeder.sent if not each.done()]:
            raise BrokenPromise(f"nobody was told what became of {unsettled}")
        written, unknown = self._feeder.fates()
        self._check("the source", source, must=written, may=unknown)
        self._check("the sink", sink, must=set(source), may=set())
        for partition in range(PARTITIONS):
            own = [n for n in source if n % PARTITIONS == partition and n in written]
            if own != sorted(own):
                raise BrokenPromise(f"partition {partition} of the source is out of order: {own}")
        if self._loop.failures:
            raise BrokenPromise(self._loop.failures[0])

    def _check(self, where: str, found: list[int], *, must: set[int], may: set[int]) -> None:
        counted = Counter(found)
        twice = sorted(n for n, count in counted.items() if count > 1)
        lost = sorted(must - set(counted))
        invented = sorted(set(counted) - must - may)
        if twice or lost or invented:
            raise BrokenPromise(
                f"in {where}: {twice} twice, {lost} lost, {invented} of an unknown origin"
            )
