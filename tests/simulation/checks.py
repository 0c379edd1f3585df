"""What must be true when a story has ended: the cluster settles; nothing acknowledged is lost, doubled or changed."""

import asyncio
from collections import Counter

from tests.simulation.clients import TOPIC, Failed, SimProducer, SimReader
from tests.simulation.moves import spread_again
from tests.simulation.world import Host, World


async def heal(world: World) -> list[str]:
    """Everybody is back, and within a while every partition has its replicas in sync, and all of it is committed."""
    world.network.cuts.clear()
    for host in world.hosts:
        if not host.running:
            await host.start()
        elif host.tree is not None:
            host.tree.heal()
    for turn in range(600):
        if turn % 20 == 0:
            await spread_again(world)
        await asyncio.sleep(0.05)
        if all(_is_settled(host) and _is_at_rest(host) for host in world.hosts):
            return []
    return [f"the cluster did not settle in 30 s: {_state(world)}"]


def _is_settled(host: Host) -> bool:
    assert host.broker is not None
    image = host.broker.metadata.image
    return len(image.brokers) == 3 and all(
        len(partition.isr) == 3 and partition.leader in image.brokers
        for topic in image.topics.values()
        for partition in topic.partitions
    )


def _is_at_rest(host: Host) -> bool:
    """Whether all that is there is committed, as far as this broker knows."""
    assert host.broker is not None
    return all(each.high_watermark == each.log.end_offset for each in host.broker.partitions)


def _state(world: World) -> list[object]:
    return [
        (host.name, str(each.tp), each.placed, each.high_watermark, each.log.end_offset)
        for host in world.hosts
        if host.broker is not None
        for each in host.broker.partitions
    ]


async def final_reads(producers: list[SimProducer], readers: list[SimReader]) -> list[str]:
    """Everything is read from the beginning, and compared with what was acknowledged."""
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


def compare_replicas(world: World) -> list[str]:
    """Below the high watermark all replicas hold the same bytes."""
    found = []
    for index in range(world.pace.partitions):
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
