"""One story: a seed, a cluster under load, faults, and what must be true in the end."""

import asyncio
import random
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch
from uuid import UUID

from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.apis.elect_leaders import ElectLeadersRequest
from tests.simulation.clients import TOPIC, Client, Failed, SimCommitter, SimProducer, SimReader
from tests.simulation.virtual_loop import VirtualLoop
from tests.simulation.world import Host, World

T = TypeVar("T")

PARTITIONS = 2
FAULTS = 4
LAG_S = 3.0
"""replica.lag.time.max.ms of the brokers."""
KINDS = (
    "kill",
    "power",
    "stop",
    "all",
    "chase",
    "elect",
    "isolate",
    "from-brokers",
    "one-way",
    "tree",
    "reset",
    "overtake",
)


class Told(NamedTuple):
    """How a story ended."""

    seed: int
    anomalies: list[str]
    story: list[str]
    acked: int
    seconds: float


def tell(seed: int) -> Told:
    """Run one seed from beginning to end."""
    return in_a_world(seed, 3, lambda world: _tell(seed, world))


def in_a_world(seed: int, hosts: int, story: Callable[[World], Coroutine[Any, Any, T]]) -> T:
    """What comes of a story in a time and a network of its own."""
    memory = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    loop = VirtualLoop()
    world = World(seed, directory, hosts)
    loop.connect = world.network.connect
    random.seed(seed)
    drawn = lambda: UUID(int=world.rng.getrandbits(128), version=4)  # noqa: E731
    try:
        asyncio.set_event_loop(loop)
        with patch.object(uuid, "uuid4", drawn):
            return loop.run_until_complete(story(world))
    finally:
        asyncio.set_event_loop(None)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        world.erase()


async def _tell(seed: int, world: World) -> Told:
    for host in world.hosts:
        await host.start()
    await _create_topic(world)
    producers = [SimProducer(world, n, n % PARTITIONS) for n in range(3)]
    readers = [SimReader(world, n) for n in range(PARTITIONS)]
    committer = SimCommitter(world)
    world.is_anybody_sending = lambda: any(each.sending for each in producers)
    clients = [asyncio.create_task(each.run()) for each in (*producers, *readers, committer)]
    await asyncio.sleep(1)
    for _ in range(FAULTS):
        await _fault(world)
        await asyncio.sleep(world.rng.uniform(0.1, 3))
    anomalies = await _heal(world)
    await asyncio.sleep(2)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    for client in (*producers, *readers, committer):
        anomalies += client.anomalies
    anomalies += await _final_reads(world, producers, readers)
    anomalies += _compare_replicas(world)
    acked = sum(len(each.acked) for each in producers)
    time = asyncio.get_running_loop().time()
    for host in world.alive():
        await host.kill()
    return Told(seed, anomalies, world.story, acked, time)


async def _create_topic(world: World) -> None:
    while not all(
        host.broker and len(host.broker.metadata.image.brokers) == 3 for host in world.hosts
    ):
        await asyncio.sleep(0.01)
    client = Client(world)
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=3)
    answer = await client.ask(1, CreateTopicsRequest(topics=[topic]), 7)
    assert answer.topics[0].error_code == 0, answer


async def _fault(world: World) -> None:
    host = world.rng.choice(world.hosts)
    kind = world.rng.choice(KINDS)
    lasts = world.rng.choice((0.01, 0.05, 0.5, 2.0, 9.0))
    await _pick_the_moment(world)
    world.tell(f"{kind} {host.name} for {lasts} s")
    if kind in ("kill", "power", "stop"):
        await _end_for(world, host, kind, lasts)
    elif kind == "all":
        await _end_all(world, lasts)
    elif kind == "chase":
        await _chase(world, lasts)
    elif kind == "elect":
        await _elect(world)
    elif kind == "reset":
        world.network.reset_some(host.name)
    elif kind == "overtake":
        await _overtake(world)
    else:
        await _cut_for(world, host, kind, lasts)


async def _pick_the_moment(world: World) -> None:
    """Mostly while a record is on its way: sent, perhaps appended, perhaps copied, not yet acknowledged."""
    if world.rng.random() < 0.8:
        for _ in range(2000):
            if world.is_anybody_sending():
                break
            await asyncio.sleep(0.0005)
        await asyncio.sleep(world.rng.uniform(0.0, 0.004))


async def _start(world: World, host: Host) -> None:
    """Start a broker again; sometimes leaders are given back just while it catches up."""
    await host.start()
    world.tell(f"{host.name} is back")
    if world.rng.random() < 0.5:
        await asyncio.sleep(world.rng.uniform(0.0, 0.3))
        await _elect(world)


async def _end_all(world: World, lasts: float) -> None:
    """Everybody is killed at once, and comes back at different times."""
    for host in world.alive():
        await host.kill()
    for host in world.rng.sample(world.hosts, len(world.hosts)):
        await asyncio.sleep(lasts / 3)
        await _start(world, host)


async def _chase(world: World, lasts: float) -> None:
    """A leader dies, and the next one as soon as it leads."""
    killed: list[Host] = []
    for _ in range(2):
        leader = await _leading(world)
        if leader is not None and leader.running:
            await leader.kill()
            killed.append(leader)
            world.tell(f"{leader.name} died leading")
    await asyncio.sleep(lasts)
    for host in killed:
        await _start(world, host)


async def _leading(world: World) -> Host | None:
    for _ in range(100):
        for host in world.alive():
            assert host.broker is not None
            partition = host.broker.partitions.find(TOPIC, 0)
            if partition is not None and partition.is_leader:
                return host
        await asyncio.sleep(0.005)
    return None


async def _elect(world: World, asked: Host | None = None) -> None:
    """Somebody gives partitions back to their preferred leaders."""
    number = (asked or world.rng.choice(world.hosts)).number
    try:
        await Client(world).ask(number, ElectLeadersRequest(topic_partitions=None), 2)
    except Failed as failure:
        world.tell(f"no election: {failure}")


async def _end_for(world: World, host: Host, kind: str, lasts: float) -> None:
    if not host.running:
        return
    if kind == "stop":
        await host.stop()
    elif kind == "power" and len(world.alive()) == 3 and _others_hold_all(host):
        await host.kill(lost_bytes=world.rng.randrange(1, 400))
    else:
        await host.kill()
    await asyncio.sleep(lasts)
    await _start(world, host)


def _others_hold_all(host: Host) -> bool:
    """Whether no partition has this broker as its last replica in sync: nobody could survive that."""
    assert host.broker is not None
    image = host.broker.metadata.image
    return all(
        len(set(partition.isr) - {host.number}) >= 1
        for topic in image.topics.values()
        for partition in topic.partitions
    )


async def _cut_for(world: World, host: Host, kind: str, lasts: float) -> None:
    others = [each.name for each in world.hosts if each is not host]
    if kind != "from-brokers":
        others.append("outside")
    if kind in ("isolate", "from-brokers"):
        world.network.cuts |= {(host.name, each) for each in others}
        world.network.cuts |= {(each, host.name) for each in others}
    elif kind == "one-way":
        world.network.cuts |= {(host.name, each) for each in others}
    if kind in ("isolate", "from-brokers", "tree") and host.tree is not None and host.running:
        host.tree.cut()
    await asyncio.sleep(lasts)
    world.network.cuts.clear()
    if host.tree is not None and host.running:
        host.tree.heal()
    world.tell(f"{host.name} is reached again")


async def _overtake(world: World) -> None:
    """A leader's words come late: it gives up its followers, and another leads, before the controller hears of it."""
    first = await _leading(world)
    if first is None or not first.running:
        return
    await first.kill()
    late = await _leading(world)
    await first.start()
    await asyncio.sleep(1)
    if late is None or not late.running:
        return
    world.tell(f"the words of {late.name} come late")
    world.network.held[late.name] = []
    await asyncio.sleep(LAG_S * world.rng.uniform(1.4, 1.8))
    await _elect(world, first)
    await asyncio.sleep(LAG_S * world.rng.uniform(1.1, 1.8))
    world.network.let_go(late.name)
    world.tell(f"the words of {late.name} have come")


async def _heal(world: World) -> list[str]:
    """Everybody is back, and within a while every partition has its replicas in sync."""
    world.network.cuts.clear()
    for host in world.hosts:
        if not host.running:
            await host.start()
        elif host.tree is not None:
            host.tree.heal()
    for _ in range(300):
        await asyncio.sleep(0.1)
        if all(_is_settled(host) for host in world.hosts):
            return []
    states = [
        (host.name, partition.partition, partition.leader, partition.isr)
        for host in world.hosts
        if host.broker is not None
        for partition in host.broker.metadata.image.topics[TOPIC].partitions
    ]
    return [f"the cluster did not settle in 30 s: {states}"]


def _is_settled(host: Host) -> bool:
    assert host.broker is not None
    image = host.broker.metadata.image
    return len(image.brokers) == 3 and all(
        len(partition.isr) == 3 and partition.leader in image.brokers
        for topic in image.topics.values()
        for partition in topic.partitions
    )


async def _final_reads(
    world: World, producers: list[SimProducer], readers: list[SimReader]
) -> list[str]:
    found: list[str] = []
    for reader in readers:
        await _read_all(reader)
        values = [reader.seen[offset] for offset in sorted(reader.seen)]
        found += reader.anomalies
        for value, times in Counter(values).items():
            if times > 1:
                found.append(f"{value!r} is there {times} times")
        for producer in producers:
            if producer.partition != reader.partition:
                continue
            for value, offset in producer.acked:
                if offset >= 0 and reader.seen.get(offset) != value:
                    there = reader.seen.get(offset)
                    found.append(f"{value!r} was acknowledged at {offset}, where {there!r} is")
            own = [each for each in values if each.startswith(b"%d-" % producer.producer_id)]
            if own != sorted(own, key=lambda each: int(each.split(b"-")[1])):
                found.append(f"the records of producer {producer.producer_id} are out of order")
    return found


async def _read_all(reader: SimReader) -> None:
    """From the beginning to the end; a cluster that has settled can be read."""
    reader.seen = {}
    offset, failures = 0, []
    while len(failures) < 50:
        try:
            after = await reader.read(offset)
        except Failed as failure:
            failures.append(str(failure))
            await asyncio.sleep(0.1)
            continue
        if after == offset:
            return
        offset = after
    reader.anomalies.append(f"{TOPIC}-{reader.partition} cannot be read: {failures[-1]}")


def _compare_replicas(world: World) -> list[str]:
    """Below the high watermark all replicas hold the same bytes."""
    found = []
    for index in range(PARTITIONS):
        logs = {}
        for host in world.hosts:
            assert host.broker is not None
            partition = host.broker.partitions.find(TOPIC, index)
            if partition is not None:
                logs[host.name] = partition.log
        end = min(log.high_watermark for log in logs.values())
        contents = {
            name: log.read(0, 1 << 24, end, at_least_one=True).data if end else b""
            for name, log in logs.items()
        }
        if len(set(contents.values())) > 1:
            found.append(f"the replicas of {TOPIC}-{index} differ below {end}")
    return found
