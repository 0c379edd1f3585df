"""A member that stalls and comes back writes nothing twice: its commits are refused, in either group protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

import ottla
from ottla import AsyncAdmin, AsyncConsumer, AsyncProducer, OffsetAndMetadata, Producer
from ottla.base.ids import TopicPartition
from ottla.client.consumer_member import LEAVE
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.clients import consume, create_topic, unique_name

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 40
QUICK = {"heartbeat_interval_ms": 100, "session_timeout_ms": 6000}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range", **QUICK},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky", **QUICK},
    "consumer": {"group_protocol": "consumer"},
}
Stall = Callable[["Scene", AsyncConsumer], Coroutine[Any, Any, None]]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


async def until(condition: Callable[[], bool]) -> None:
    """Let the background work until a condition holds; the test's time limit bounds it."""
    while not condition():
        await asyncio.sleep(0.01)


class Scene:
    """A source of one partition, a sink, and members of one group that copy from one to the other."""

    def __init__(self, bootstrap: str, kind: str) -> None:
        self.bootstrap = bootstrap
        self.kind = kind
        self.group = unique_name("group")
        self.source = TopicPartition(create_topic(bootstrap, "source"), 0)
        self.sink = create_topic(bootstrap, "sink")
        self.written = 0

    @asynccontextmanager
    async def member(self, **settings: Any) -> AsyncIterator[tuple[AsyncConsumer, AsyncProducer]]:
        """A consumer that has subscribed, and a producer with transactions."""
        read = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        read |= {"group_id": self.group, **PROTOCOLS[self.kind], **settings}
        write = {"transactional_id": unique_name("tx")}
        async with (
            AsyncConsumer(bootstrap_servers=self.bootstrap, **read) as consumer,
            AsyncProducer(bootstrap_servers=self.bootstrap, **write) as producer,
        ):
            await producer.init_transactions()
            await consumer.subscribe([self.source.topic])
            yield consumer, producer

    def write(self, count: int) -> None:
        with Producer(bootstrap_servers=self.bootstrap) as producer:
            for _ in range(count):
                producer.send(self.source.topic, b"%d" % self.written)
                self.written += 1

    async def read(self, consumer: AsyncConsumer, count: int) -> list[ottla.ConsumerRecord]:
        records: list[ottla.ConsumerRecord] = []
        while len(records) < count:
            records += await consumer.poll(0.1)
        return records

    async def copy(
        self,
        records: list[ottla.ConsumerRecord],
        consumer: AsyncConsumer,
        producer: AsyncProducer,
    ) -> None:
        """What a program does: write, and commit how far it has read, in one transaction."""
        async with producer.transaction():
            for record in records:
                await producer.send(self.sink, record.value)
            offsets = {self.source: records[-1].offset + 1}
            await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())

    def copied(self) -> list[bytes | None]:
        found = consume(self.bootstrap, self.sink, isolation_level="read_committed")
        return [message.value() for message in found]

    async def committed(self, consumer: AsyncConsumer) -> OffsetAndMetadata | None:
        return (await consumer.committed([self.source]))[self.source]


async def send_away(scene: Scene, consumer: AsyncConsumer) -> None:
    """The coordinator removes a member, as it does when the session ends."""
    async with AsyncAdmin({"bootstrap.servers": scene.bootstrap}) as admin:
        if scene.kind != "consumer":
            await admin.remove_members(scene.group)
            return
        leave = ConsumerGroupHeartbeatRequest(
            group_id=scene.group,
            member_id=consumer.group_metadata().member_id,
            member_epoch=LEAVE,
        )
        await admin.cluster.ask_coordinator(scene.group, leave)


async def do_not_poll(scene: Scene, consumer: AsyncConsumer) -> None:
    """The program is busy for longer than max.poll.interval.ms: the client itself leaves."""


STALLS: dict[str, tuple[Stall, dict[str, Any]]] = {
    "removed": (send_away, {}),
    "not polling": (do_not_poll, {"max_poll_interval_ms": 700}),
}


def lost(consumer: AsyncConsumer) -> bool:
    """Whether the client knows, in the background, that it is a member no more."""
    membership: Any = consumer._core._membership
    return bool(membership._lost)


def resting(consumer: AsyncConsumer) -> bool:
    """Whether the background has done all that it will do without a poll: joining again would be wrong."""
    membership: Any = consumer._core._membership
    joined_again = getattr(membership._member, "epoch", 0) > 0
    return bool(membership._heartbeats.done() or joined_again)


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_stalled_member_commits_nothing_that_another_has_done(
    bootstrap: str, kind: str, stall: str
) -> None:
    scene = Scene(bootstrap, kind)
    scene.write(10)
    happens, settings = STALLS[stall]

    async def story() -> None:
        async with scene.member(**settings) as (stalled, its_producer):
            records = await scene.read(stalled, 10)
            async with scene.member() as (other, others_producer):
                await happens(scene, stalled)
                await until(lambda: lost(stalled))
                await scene.copy(await scene.read(other, 10), other, others_producer)
                scene.write(10)
                await scene.copy(await scene.read(other, 10), other, others_producer)
                if kind == "consumer":
                    await until(lambda: resting(stalled))
                with pytest.raises(ottla.ApiError):
                    await scene.copy(records, stalled, its_producer)
                with pytest.raises(ottla.ApiError):
                    await stalled.commit({scene.source: 10})
                assert await scene.committed(other) == OffsetAndMetadata(20)

    run(story())
    assert scene.copied() == [b"%d" % n for n in range(20)]


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_stalled_member_commits_nothing_to_a_group_that_everybody_has_left(
    bootstrap: str, kind: str
) -> None:
    """An empty group takes commits of no member at all: the stalled one must not look like that."""
    scene = Scene(bootstrap, kind)
    scene.write(10)

    async def story() -> None:
        async with scene.member(max_poll_interval_ms=700) as (stalled, its_producer):
            records = await scene.read(stalled, 10)
            await until(lambda: lost(stalled))
            async with scene.member() as (other, others_producer):
                await scene.copy(await scene.read(other, 10), other, others_producer)
            with pytest.raises(ottla.ApiError):
                await scene.copy(records, stalled, its_producer)

    run(story())
    assert scene.copied() == [b"%d" % n for n in range(10)]


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_stalled_member_does_not_commit_by_itself_what_it_has_lost(
    bootstrap: str, kind: str
) -> None:
    scene = Scene(bootstrap, kind)
    scene.write(10)
    automatic = {"enable_auto_commit": True, "auto_commit_interval_ms": 0}

    async def story() -> None:
        async with scene.member(max_poll_interval_ms=700, **automatic) as (stalled, _):
            await scene.read(stalled, 10)
            await until(lambda: lost(stalled))
            async with scene.member() as (other, others_producer):
                scene.write(10)
                await scene.copy(await scene.read(other, 20), other, others_producer)
                for _ in range(3):
                    await stalled.poll(0)
                assert await scene.committed(other) == OffsetAndMetadata(20)

    run(story())


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_member_goes_on_after_a_stall(bootstrap: str, kind: str) -> None:
    scene = Scene(bootstrap, kind)
    scene.write(10)

    async def story() -> None:
        async with scene.member() as (stalled, its_producer):
            records = await scene.read(stalled, 10)
            await send_away(scene, stalled)
            await until(lambda: lost(stalled))
            with pytest.raises(ottla.ApiError):
                await scene.copy(records, stalled, its_producer)
            again = await scene.read(stalled, 10)
            await scene.copy(again, stalled, its_producer)

    run(story())
    assert scene.copied() == [b"%d" % n for n in range(10)]


@pytest.mark.parametrize("kind", ["cooperative-sticky", "consumer"])
def test_a_poll_that_is_cancelled_while_partitions_leave_is_finished_by_the_next(
    bootstrap: str, kind: str
) -> None:
    scene = Scene(bootstrap, kind)
    topic = create_topic(bootstrap, partitions=4)
    scene.source = TopicPartition(topic, 0)
    told: list[str] = []
    hold, entered = asyncio.Event(), asyncio.Event()

    async def revoked(partitions: list[TopicPartition]) -> None:
        told.append("begun")
        entered.set()
        await hold.wait()
        told.append("done")

    async def story() -> None:
        async with scene.member() as (first, _):
            await first.subscribe([topic], on_revoked=revoked)
            while len(first.assignment()) < 4:
                await first.poll(0.05)
            async with scene.member() as (second, _):
                other = asyncio.ensure_future(_until_owned(second, 2))
                poll = asyncio.ensure_future(_poll_for_ever(first))
                await entered.wait()
                poll.cancel()
                await asyncio.wait([poll])
                hold.set()
                while not other.done() or len(first.assignment()) != 2:
                    await first.poll(0.05)
                assert not first.assignment() & second.assignment()

    run(story())
    assert told[:3] == ["begun", "begun", "done"]


async def _poll_for_ever(consumer: AsyncConsumer) -> None:
    while True:
        await consumer.poll(0.1)


async def _until_owned(consumer: AsyncConsumer, count: int) -> None:
    while len(consumer.assignment()) != count:
        await consumer.poll(0.05)
