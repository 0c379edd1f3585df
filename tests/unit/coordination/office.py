"""A coordinator of groups over the partitions of a broker that has no network: real logs, real machines."""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ottla.base.clock import Clock
from ottla.base.errors import ApiError
from ottla.base.tasks import Tasks
from ottla.cluster.image import Changes, Image, PartitionImage, TopicImage, advance
from ottla.config.groups import GroupsConfig
from ottla.coordination.groups.commit_again import CommitAgain
from ottla.coordination.groups.offset_requests import Commit, commit
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.topics import Topics
from ottla.coordination.runtime import Coordinator
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID
from ottla.replication.partition import Partition
from tests.support.clock import ScriptedClock
from tests.unit.coordination.groups.offset_stories import at
from tests.unit.replication.test_partitions import NODE, Host, topic

TOPIC, GROUP = "__consumer_offsets", "shoppers"
FOLLOWER = NODE + 1
ALONE = topic(TOPIC)
KEPT = [ErrorCode.NONE]
TURNS = 1000


def shared(*isr: int, leader: int = NODE) -> TopicImage:
    """The topic with a follower; another leader is of the next epoch."""
    epoch = int(leader != NODE)
    partition = PartitionImage(0, (NODE, FOLLOWER), isr, leader, epoch, epoch, zxid=epoch + 1)
    return ALONE._replace(partitions=(partition,))


class Office:
    """A coordinator of groups over the partitions of a broker."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.tasks = Tasks()
        self.current = True
        self.clock: Clock = ScriptedClock(host.now())
        self.config = GroupsConfig()
        self.coordinator = self.open()
        host.membership.broker_epoch = 0

    def open(self) -> Coordinator[GroupShard]:
        return Coordinator(
            TOPIC,
            lambda _: GroupShard(self.config, Topics()),
            self.host.partitions,
            self.tasks,
            self.clock,
            lambda: self.current,
        )

    async def place(self, image: TopicImage = ALONE) -> None:
        """Let the broker and its coordinator follow where the topic is now."""
        await self.host.change(**{TOPIC: image})
        await self.follow(image)

    async def follow(self, image: TopicImage = ALONE) -> None:
        await self.coordinator.apply(*advance(Image(), Changes(topics={TOPIC: image})))

    async def loaded(self) -> GroupShard:
        for _ in range(TURNS):
            if self.coordinator.loaded_shards():
                break
            await asyncio.sleep(0)
        [shard] = self.coordinator.shards()
        return shard

    async def restart(self) -> None:
        """The next life of the coordinator has nothing but the log, and is not done with it."""
        self.coordinator = self.open()
        await self.follow()

    @property
    def partition(self) -> Partition:
        found = self.host.partitions.find(TOPIC, 0)
        assert found is not None
        return found

    def ask(self, decide: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What somebody has been told, or will be: an answer, or the code of an error."""
        told: list[Any] = []

        def token(value: Any) -> None:
            told.append(value.code if isinstance(value, ApiError) else value)

        try:
            self.coordinator.write(
                GROUP, lambda shard, now_ms: decide(shard, *arguments, token, now_ms)
            )
        except ApiError as refused:
            token(refused)
        return told

    def commit(self, offset: int, partitions: int = 1) -> list[Any]:
        return self.ask(commit, asked(offset, partitions))

    def writes_at_once(self, *writes: CommitAgain) -> bool:
        """Whether all of them are; if not, none is."""
        others = self.coordinator.write_together(writes)
        assert others in (set(), set(writes))
        return not others

    def position(self, shard: GroupShard) -> int:
        found = shard.offsets.find(GROUP, "orders", 0)
        return -1 if found is None else found.committed_offset

    def list_groups(self) -> int | list[str]:
        """The answer to ListGroups, or its error."""
        try:
            return [name for shard in self.coordinator.shards() for name in shard.groups]
        except ApiError as refused:
            return refused.code


def asked(offset: int, partitions: int = 1) -> Commit:
    """A commit of somebody who reads without being a member."""
    positions = [at(number, offset, "x" * 100) for number in range(partitions)]
    return Commit(GROUP, [TopicToCommit("orders", ZERO_UUID, positions)], 9)


def repeated(offset: int, generation: int = -1, partition: int = 0) -> CommitAgain:
    """The same as it comes over and over, or of a member of some generation."""
    topics = [TopicToCommit("orders", ZERO_UUID, [at(partition, offset)])]
    return CommitAgain(Commit(GROUP, topics, 9, member_id="", generation=generation))


def tell(story: Callable[[Office], Awaitable[None]], directory: Path) -> None:
    """Let a story happen where the broker leads the topic, and its coordinator is loaded."""

    async def run() -> None:
        host = Host(directory)
        host.open()
        office = Office(host)
        try:
            await office.place()
            await office.loaded()
            await story(office)
        finally:
            await office.tasks.cancel()
            await host.logs.close()

    asyncio.run(run())


@contextmanager
def full_disk(partition: Partition) -> Iterator[None]:
    """The log cannot grow."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (partition.log.size_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
