"""A hundred brokers that are told of topics and of each other, while some die, are cut off, and come back.

python -m tests.simulation.crowd [SEED] [BROKERS]
"""

import asyncio
import logging
import sys
import time
from collections.abc import Iterator

from ottla.cluster.image import Image
from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.errors import ErrorCode
from tests.simulation.clients import Client, Failed
from tests.simulation.pace import LONG
from tests.simulation.story import a_world
from tests.simulation.world import Host, World

BROKERS = 100
TOPICS = 6
PARTITIONS = 100
REPLICAS = 3
VICTIMS = 5
SETTLES_WITHIN_S = 60.0


def tell(seed: int, brokers: int = BROKERS) -> list[str]:
    """What is not as it should be in the end."""
    with a_world(seed, brokers, LONG) as (loop, world):
        return loop.run_until_complete(_tell(world))


async def _tell(world: World) -> list[str]:
    for host in world.hosts:
        await host.start()
    await _until(lambda: _knows_everybody(world))
    for number in range(TOPICS):
        await _create(world, f"topic-{number}")
    await _until(lambda: not list(_anomalies(world)))
    away = world.rng.sample(world.hosts, 2 * VICTIMS)
    killed, cut = away[:VICTIMS], away[VICTIMS:]
    for host in killed:
        await host.kill()
    for host in cut:
        _cut(world, host)
    await _delete(world, "topic-0")
    await _create(world, "topic-1-again")
    await asyncio.sleep(2 * LONG.session_timeout_s)
    for host in cut:
        assert host.tree is not None
        host.tree.heal()
    world.network.cuts.clear()
    for host in killed:
        await host.start()
    await _until(lambda: not list(_anomalies(world)))
    return list(_anomalies(world))


def _cut(world: World, host: Host) -> None:
    """Off the network and the tree: it hears of nothing."""
    assert host.tree is not None
    host.tree.cut()
    for other in world.hosts:
        world.network.cuts |= {(host.name, other.name), (other.name, host.name)}


async def _until(holds: object) -> None:
    """Wait, but not for ever: what is wrong then is told by whoever looks next."""
    assert callable(holds)
    for _ in range(int(SETTLES_WITHIN_S * 2)):
        if holds():
            return
        await asyncio.sleep(0.5)


async def _create(world: World, name: str) -> None:
    topic = CreatableTopic(
        name=name, num_partitions=PARTITIONS, replication_factor=REPLICAS, assignments=[]
    )
    answer = await _ask(world, CreateTopicsRequest(topics=[topic]), 7)
    assert answer.topics[0].error_code in (0, ErrorCode.TOPIC_ALREADY_EXISTS), answer


async def _delete(world: World, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
    answer = await _ask(world, request, 6)
    assert answer.responses[0].error_code in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), answer


async def _ask(world: World, request: object, version: int) -> object:
    """The answer of any broker that has one, with time for a new controller.

    An answer that is lost on its way may be to a request that had its effect: asked again, it is refused as done.
    """
    client = Client(world)
    for _ in range(100):
        host = world.rng.choice(world.alive())
        try:
            return await client.ask(host.number, request, version)  # type: ignore[arg-type]
        except Failed:
            await asyncio.sleep(0.2)
    raise AssertionError(f"nobody answers {type(request).__name__}")


def _knows_everybody(world: World) -> bool:
    return all(len(_image(host).brokers) == len(world.hosts) for host in world.alive())


def _image(host: Host) -> Image:
    assert host.broker is not None
    return host.broker.metadata.image


def _anomalies(world: World) -> Iterator[str]:
    """All know the same brokers and the same partitions, and everybody hosts just what is theirs."""
    first = _image(world.alive()[0])
    expected = {host.number for host in world.alive()}
    for host in world.alive():
        image = _image(host)
        if set(image.brokers) != expected:
            yield f"{host.name} knows {len(image.brokers)} brokers"
        if image.topics != first.topics:
            yield f"{host.name} knows other topics than {world.alive()[0].name}"
        yield from _misplaced(host, image)
    for topic in first.topics.values():
        for each in topic.partitions:
            if each.leader not in expected or len(each.isr) != REPLICAS:
                yield f"{topic.name}-{each.partition} is led by {each.leader}, in sync {each.isr}"


def _misplaced(host: Host, image: Image) -> Iterator[str]:
    assert host.broker is not None
    for topic in image.topics.values():
        for each in topic.partitions:
            hosted = host.broker.partitions.find(topic.name, each.partition)
            if (hosted is not None) != (host.number in each.replicas):
                yield f"{host.name} and {topic.name}-{each.partition}: {each.replicas}"
            elif hosted is not None and hosted.is_leader != (each.leader == host.number):
                yield f"{host.name} leads {topic.name}-{each.partition}: {hosted.is_leader}"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    wrong = tell(*map(int, sys.argv[1:]))
    print("\n".join(wrong[:20]) or "everybody knows the same")
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(bool(wrong))
