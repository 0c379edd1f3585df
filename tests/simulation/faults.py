"""What goes wrong in a story: processes die, machines lose their power, links are cut, words come late."""

import asyncio

from ottla.controller.states import is_settled
from ottla.protocol.apis.elect_leaders import ElectLeadersRequest
from tests.simulation.clients import TOPIC, Client, Failed
from tests.simulation.moves import leave_and_return
from tests.simulation.world import Host, World

KINDS = (
    "kill",
    "power",
    "stop",
    "all",
    "chase",
    "elect",
    "move",
    "isolate",
    "from-brokers",
    "one-way",
    "tree",
    "reset",
    "overtake",
    "outage",
)


async def fault(world: World) -> None:
    """Something goes wrong for a while, by the seed."""
    host = world.rng.choice(world.hosts)
    kind = world.rng.choice(KINDS)
    lasts = world.rng.choice(world.pace.lasts_s)
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
    elif kind == "move":
        await leave_and_return(world, host, lasts)
    elif kind == "reset":
        world.network.reset_some(host.name)
    elif kind == "overtake":
        await _overtake(world)
    elif kind == "outage":
        await _outage(world)
    else:
        await _cut_for(world, host, kind, lasts)


async def _pick_the_moment(world: World) -> None:
    """Mostly while a record is on its way: sent, perhaps appended, perhaps copied, not yet acknowledged."""
    if world.rng.random() < 0.8:
        await world.somebody_sends()
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


async def _outage(world: World) -> None:
    """All lose their power at once and return at different times; one disk is intact, the others may not be.

    Some return within their session, some beyond it, and some lose their session before anybody acts on their return.
    """
    hosts = world.alive()
    may_be_damaged = len(hosts) == len(world.hosts) and all(map(_is_whole, hosts))
    for host in hosts:
        await host.kill()
    damaged = world.rng.sample(hosts, world.rng.randrange(len(hosts))) if may_be_damaged else []
    for host in damaged:
        world.tell(f"{host.name} comes back with a disk that is {_damage(world, host)}")
    for host in world.rng.sample(world.hosts, len(world.hosts)):
        await asyncio.sleep(world.rng.choice((0.0, 0.1, 0.4, 1.2)) * world.pace.session_timeout_s)
        await host.start(registrations=world.rng.choice((1, 1, 2)))
        world.tell(f"{host.name} is back")


def _damage(world: World, host: Host) -> str:
    kind = world.rng.choice(("torn", "torn", "empty", "older"))
    if kind == "older" and host.saved is not None:
        host.restore(host.saved)
    elif kind == "empty":
        host.wipe()
    else:
        host.tear(world.rng.randrange(1, 600))
    return kind


def _is_whole(host: Host) -> bool:
    """Whether all replicas of everything are in sync, in their present lives, as far as this broker knows."""
    assert host.broker is not None
    image = host.broker.metadata.image
    return all(
        len(partition.isr) == len(partition.replicas) and is_settled(image, partition)
        for topic in image.topics.values()
        for partition in topic.partitions
    )


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
        host.saved = host.copy()
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
    await asyncio.sleep(world.pace.lag_s / 3)
    if late is None or not late.running:
        return
    world.tell(f"the words of {late.name} come late")
    world.network.held[late.name] = []
    await asyncio.sleep(world.pace.lag_s * world.rng.uniform(1.4, 1.8))
    await _elect(world, first)
    await asyncio.sleep(world.pace.lag_s * world.rng.uniform(1.1, 1.8))
    world.network.let_go(late.name)
    world.tell(f"the words of {late.name} have come")
