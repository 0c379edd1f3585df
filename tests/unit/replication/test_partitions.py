"""The hosted partitions: they follow the metadata, and are found by name and by id."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.base.errors import ApiError, DiskFull, LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.cluster.image import Changes, ConfigImage, Image, PartitionImage, TopicImage, advance
from ottla.cluster.membership import Membership
from ottla.config.live import LiveSettings
from ottla.config.load import load
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import parse_header
from ottla.replication.partition import Partition
from ottla.replication.partitions import Partitions
from ottla.storage import fs
from ottla.storage.logs import Logs
from ottla.storage.partition_metadata import read_topic_id
from ottla.storage.validate import ValidatedBatch
from tests.unit.storage.samples import NOW_MS, make_batch

NODE = 1


def topic(name: str, partitions: int = 1, *, leader: int = NODE, of: str = "") -> TopicImage:
    """A topic all of whose partitions are here; `of` tells apart two that share a name."""
    placed = (PartitionImage(n, (NODE,), (NODE,), leader, 0, 0) for n in range(partitions))
    return TopicImage(name, uuid.uuid5(uuid.NAMESPACE_OID, name + of), tuple(placed), 0)


class Host:
    """Partitions over real logs, and the image they follow."""

    def __init__(self, *directories: Path) -> None:
        settings = load(None, {}, [f"log.dirs={','.join(map(str, directories))}"])
        self.membership = Membership(NODE, "cluster", "secret")
        self.logs = Logs(settings.storage, lambda name: self.partitions.log_config(name), self.now)
        self.partitions = Partitions(self.membership, self.logs, LiveSettings(settings), self.now)
        self.image = Image()

    @staticmethod
    def now() -> int:
        return NOW_MS

    def open(self, *topics: TopicImage) -> None:
        self.logs.lock()
        self.image, _ = advance(Image(), Changes(topics={each.name: each for each in topics}))
        self.partitions.open(self.image)

    async def change(self, **topics: TopicImage | None) -> None:
        self.image, delta = advance(self.image, Changes(topics=topics))
        await self.partitions.apply(self.image, delta)

    async def configure(self, name: str, **values: str) -> None:
        config = ConfigImage({key.replace("_", "."): value for key, value in values.items()}, 0)
        self.image, delta = advance(self.image, Changes(topic_configs={name: config}))
        await self.partitions.apply(self.image, delta)

    def error(self, topic: str | bytes, index: int = 0) -> int:
        with pytest.raises(ApiError) as refused:
            self.partitions.leader(topic, index)
        return refused.value.code


Story = Callable[[Host], Awaitable[None]]


def tell(story: Story, *directories: Path) -> None:
    async def run() -> None:
        host = Host(*directories)
        try:
            await story(host)
        finally:
            await host.logs.close()

    asyncio.run(run())


def append(partition: Partition) -> int:
    batch = memoryview(make_batch(1))
    return partition.append(ValidatedBatch(parse_header(batch), batch, -1), NOW_MS).base_offset


def test_what_is_given_before_the_epoch_of_this_life_is_known_can_be_claimed(
    tmp_path: Path,
) -> None:
    async def story(host: Host) -> None:
        host.open()
        for name, chosen_at in (("before", 112), ("after", 114)):
            placed = PartitionImage(0, (NODE, 2), (NODE,), NODE, 0, 0, zxid=chosen_at)
            await host.change(**{name: topic(name)._replace(partitions=(placed,))})
        assert host.partitions.unclaimed() == set(), "neither can be told from a life before this"
        host.membership.broker_epoch = 113
        assert host.partitions.unclaimed() == {"after"}
        found = host.partitions.find("after", 0)
        assert found is not None
        found.place(found.placed, NOW_MS)
        assert host.partitions.unclaimed() == set()

    tell(story, tmp_path)


def test_a_broker_leads_only_in_the_life_in_which_it_was_chosen(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.open()
        placed = PartitionImage(0, (NODE, 2), (NODE,), NODE, 0, 0, zxid=112)
        placed = placed._replace(lives={NODE: 7})
        await host.change(t=topic("t")._replace(partitions=(placed,)))
        host.membership.broker_epoch = 113
        for life, leads in ((6, False), (7, True), (8, False)):
            host.membership.life = life
            assert host.partitions.leads(placed) is leads
        host.membership.life = 7
        assert host.partitions.unclaimed() == {"t"}

    tell(story, tmp_path)


def test_topics_come_and_go(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.open(topic("old", 2))
        new = topic("new")
        await host.change(new=new)
        assert {partition.tp for partition in host.partitions} == {
            TopicPartition("old", 0), TopicPartition("old", 1), TopicPartition("new", 0),
        }  # fmt: skip
        found = host.partitions.leader("new", 0)
        assert host.partitions.leader(new.topic_id.bytes, 0) is found
        assert append(found) == 0
        await host.change(new=None)
        assert host.error("new") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert host.error(new.topic_id.bytes) == ErrorCode.UNKNOWN_TOPIC_ID
        assert host.partitions.find("new", 0) is None
        with pytest.raises(StorageError):
            append(found)

    tell(story, tmp_path)


def test_a_topic_made_again_is_another_topic(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        first, second = topic("t"), topic("t", of="again")
        host.open(first)
        append(host.partitions.leader("t", 0))
        await host.change(t=second)
        assert host.partitions.leader("t", 0).log.end_offset == 0
        assert host.error(first.topic_id.bytes) == ErrorCode.UNKNOWN_TOPIC_ID
        assert host.partitions.leader(second.topic_id.bytes, 0).topic_id == second.topic_id

    tell(story, tmp_path)


def test_partitions_are_added_to_a_topic(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.open(topic("t"))
        first = host.partitions.leader("t", 0)
        assert host.error("t", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await host.change(t=topic("t", 25))
        assert host.partitions.leader("t", 24).tp == TopicPartition("t", 24)
        assert host.partitions.leader("t", 0) is first

    tell(story, tmp_path)


def test_only_the_leader_answers(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.open(topic("t", leader=2))
        assert host.error("t") == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await host.change(t=topic("t"))
        host.partitions.leader("t", 0)

    tell(story, tmp_path)


def test_settings_of_a_topic_reach_its_logs(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.open(topic("t", 2), topic("other"))
        await host.configure("t", retention_ms="1234", flush_messages="1")
        logs = [host.partitions.leader("t", n).log for n in (0, 1)]
        assert {log.config.retention_ms for log in logs} == {1234}
        assert host.partitions.leader("other", 0).log.config.retention_ms != 1234
        assert host.partitions.leader("t", 0).syncs_every_batch

    tell(story, tmp_path)


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    async def first(host: Host) -> None:
        host.open(topic("t"))
        assert [append(host.partitions.leader("t", 0)) for _ in range(3)] == [0, 1, 2]

    async def second(host: Host) -> None:
        host.open(topic("t"))
        assert host.partitions.leader("t", 0).high_watermark == 3

    tell(first, tmp_path)
    tell(second, tmp_path)


def test_whoever_waits_for_a_deleted_topic_is_told(tmp_path: Path) -> None:
    told: list[int] = []

    async def story(host: Host) -> None:
        host.open(topic("t"))
        host.partitions.leader("t", 0).when_committed(100, told.append)
        await host.change(t=None)

    tell(story, tmp_path)
    assert told == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_sync_commits_what_was_appended_before_it(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.open(topic("t"))
        await host.configure("t", flush_messages="1")
        partition = host.partitions.leader("t", 0)
        committed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        for n in range(5):
            assert append(partition) == n
        partition.when_committed(5, committed.set_result)
        assert partition.high_watermark == 0
        async with asyncio.timeout(10):
            assert await committed == 0
        assert partition.high_watermark == 5

    tell(story, tmp_path)


def two_directories(tmp_path: Path) -> tuple[Path, Path]:
    """Two log directories, the second of which holds a record of topic b."""
    first, second = tmp_path / "first", tmp_path / "second"

    async def fill(host: Host) -> None:
        host.open()
        await host.change(a=topic("a"))
        await host.change(b=topic("b"))
        for name in ("a", "b"):
            append(host.partitions.leader(name, 0))

    tell(fill, first, second)
    assert (second / "b-0").is_dir()
    return first, second


def test_a_partition_of_a_lost_directory_is_not_made_anew_elsewhere(tmp_path: Path) -> None:
    first, second = two_directories(tmp_path)
    second.rename(tmp_path / "unplugged")
    second.write_text("no directory")

    async def without(host: Host) -> None:
        host.open(topic("a"), topic("b"))
        assert host.partitions.leader("a", 0).log.end_offset == 1
        assert host.error("b") == ErrorCode.KAFKA_STORAGE_ERROR
        assert host.error(topic("b").topic_id.bytes) == ErrorCode.KAFKA_STORAGE_ERROR
        assert host.error("b", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        # Not even when the metadata tells something new of it.
        await host.change(b=topic("b", leader=2))
        await host.change(b=topic("b"))
        assert host.error("b") == ErrorCode.KAFKA_STORAGE_ERROR
        await host.change(c=topic("c"))
        append(host.partitions.leader("c", 0))
        await host.change(b=None)
        assert host.error("b") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    async def with_it_again(host: Host) -> None:
        host.open(topic("a"), topic("b"), topic("c"))
        assert host.partitions.leader("b", 0).log.end_offset == 1

    tell(without, first, second)
    second.unlink()
    (tmp_path / "unplugged").rename(second)
    tell(with_it_again, first, second)


def test_a_directory_that_fails_takes_only_its_own_partitions_along(tmp_path: Path) -> None:
    first, second = two_directories(tmp_path)
    told: list[int] = []

    async def story(host: Host) -> None:
        host.open(topic("a"), topic("b"))
        host.partitions.leader("b", 0).when_committed(100, told.append)
        host.logs.dirs[1].fail(LogDirOffline("unplugged"))
        assert host.error("b") == ErrorCode.KAFKA_STORAGE_ERROR
        assert append(host.partitions.leader("a", 0)) == 1

    tell(story, first, second)
    assert told == [ErrorCode.KAFKA_STORAGE_ERROR]


@pytest.mark.parametrize("file", ["compaction-gap-checkpoint", "partition.metadata"])
def test_a_partition_that_found_no_room_is_opened_once_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    write_atomic = fs.write_atomic

    def write_unless_full(path: str, *content: Any, **options: Any) -> None:
        if path.endswith(file):
            raise DiskFull("no room")
        write_atomic(path, *content, **options)

    async def story(host: Host) -> None:
        host.open()
        monkeypatch.setattr(fs, "write_atomic", write_unless_full)
        await host.change(a=topic("a"), b=topic("b"))
        assert host.error("a") == ErrorCode.KAFKA_STORAGE_ERROR
        assert host.partitions.unopened() == {"a", "b"}
        await host.change(a=topic("a", leader=2))
        await host.change(b=None)
        monkeypatch.setattr(fs, "write_atomic", write_atomic)
        await host.change(a=topic("a"))
        assert host.partitions.unopened() == set()
        assert append(host.partitions.leader("a", 0)) == 0
        assert read_topic_id(host.partitions.leader("a", 0).log.directory) == topic("a").topic_id

    tell(story, tmp_path)
