"""The coordinator on a real log: loading, losing the disk or the partition, and what is written in one go."""

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from ottla.base.clock import Clock
from ottla.config.groups import GroupsConfig
from ottla.coordination import metrics
from ottla.coordination.batches import MOST_TOGETHER
from ottla.coordination.decision import Decision, Token
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.quiet import FEWEST_TURNS
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import iter_headers
from tests.support.clock import ScriptedClock
from tests.unit.coordination.office import (
    ALONE,
    FOLLOWER,
    GROUP,
    KEPT,
    TOPIC,
    Office,
    full_disk,
    repeated,
    shared,
    tell,
)
from tests.unit.replication.test_partitions import NODE

JOIN = JoinGroupRequest(
    group_id="newcomers",
    session_timeout_ms=10_000,
    protocol_type="consumer",
    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
)
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def heartbeat(shard: GroupShard, member_id: str, token: Token, now_ms: int) -> Decision:
    """A consumer joins a group of its own protocol."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="consumers",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    return shard.consumer_heartbeat(request, Caller("client", "/host", 1), token, now_ms)


def reloads() -> float:
    return metrics.RELOADS.labels(topic=TOPIC).value


def test_who_asks_while_the_log_is_replayed_is_told_so(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        for offset in range(4):
            assert office.commit(offset, partitions=1000) == [[*KEPT * 1000]]
        await office.restart()
        for _ in range(4):  # each commit is replayed in a turn of its own
            assert office.commit(9) == [LOADING]
            assert office.list_groups() == LOADING
            assert not office.writes_at_once(repeated(9))
            await asyncio.sleep(0)
        assert office.position(await office.loaded()) == 3
        assert office.list_groups() == [GROUP]
        assert office.commit(9) == [KEPT]

    tell(story, tmp_path)


def test_a_coordinator_that_could_not_write_is_loaded_anew(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        office.commit(5)
        joining = office.ask(GroupShard.join, JOIN, Caller("client", "/host", 3, "1"))
        assert joining == [], "it waits for others"
        before, end_offset = reloads(), office.partition.log.end_offset
        with full_disk(office.partition):
            assert office.commit(6) == [ErrorCode.NOT_COORDINATOR]
        assert joining == [ErrorCode.NOT_COORDINATOR]
        assert reloads() == before + 1
        assert office.commit(7) == [LOADING]
        shard = await office.loaded()
        assert (office.position(shard), list(shard.groups)) == (5, [GROUP])
        assert office.partition.log.end_offset == end_offset
        assert office.commit(7) == [KEPT]
        assert office.position(shard) == 7

    tell(story, tmp_path)


def test_who_waits_for_others_is_answered_when_nobody_comes(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        joining = office.ask(heartbeat, "a"), office.ask(heartbeat, "b")
        assert joining == ([], [])
        for _ in range(2 * FEWEST_TURNS):  # the clock of this broker stands still
            await asyncio.sleep(0)
        [first], [second] = joining
        assert first.member_epoch == second.member_epoch > 0

    tell(story, tmp_path)


def test_a_partition_that_is_led_elsewhere_answers_nobody(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.place(shared(NODE, FOLLOWER))
        await office.loaded()
        waiting = office.commit(5)
        assert waiting == [], "its follower does not have it"
        await office.place(shared(NODE, FOLLOWER, leader=FOLLOWER))
        assert waiting == [ErrorCode.NOT_COORDINATOR]
        assert office.commit(6) == [ErrorCode.NOT_COORDINATOR]
        assert office.list_groups() == []

    tell(story, tmp_path)


def test_too_few_replicas_in_sync_are_said_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        office.commit(5)
        await office.place(shared(NODE))
        await office.host.configure(TOPIC, min_insync_replicas="2")
        shard, before = await office.loaded(), reloads()
        end_offset = office.partition.log.end_offset
        assert office.commit(6) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        assert not office.writes_at_once(repeated(6))
        assert (office.position(shard), office.partition.log.end_offset) == (5, end_offset)
        assert reloads() == before

    tell(story, tmp_path)


def test_what_is_alone_in_its_log_is_written_in_one_go(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        office.commit(5)
        end_offset = office.partition.log.end_offset
        assert office.writes_at_once(repeated(6))
        assert office.partition.log.end_offset == end_offset + 1
        assert office.position(await office.loaded()) == 6
        await office.restart()
        assert office.position(await office.loaded()) == 6

    tell(story, tmp_path)


def test_what_comes_in_one_turn_is_written_in_few_batches(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        office.commit(5)
        log, count = office.partition.log, 2 * MOST_TOGETHER + 1
        end_offset = log.end_offset
        assert office.writes_at_once(*(repeated(n, partition=n) for n in range(count)))
        assert log.end_offset == office.partition.high_watermark == end_offset + count
        batches = iter_headers(log.read(end_offset, 1 << 20, log.end_offset).data)
        assert [header.count for _, header in batches] == [MOST_TOGETHER, MOST_TOGETHER, 1]
        for _ in range(2):
            committed = (await office.loaded()).offsets.topics(GROUP)["orders"]
            assert {n: each.committed_offset for n, each in committed.items()} == {
                n: n for n in range(count)
            }
            await office.restart()

    tell(story, tmp_path)


def test_who_is_refused_is_refused_alone(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        office.commit(5)
        member, stranger, other = repeated(6), repeated(7, generation=3), repeated(8, partition=1)
        assert office.coordinator.write_together([member, stranger, other]) == {stranger}
        committed = (await office.loaded()).offsets.topics(GROUP)["orders"]
        assert [committed[n].committed_offset for n in (0, 1)] == [6, 8]

    tell(story, tmp_path)


@pytest.mark.parametrize("obstacle", ["disk", "size", "touch", "follower", "moved", "stranger"])
def test_what_cannot_be_written_in_one_go_changes_nothing(tmp_path: Path, obstacle: str) -> None:
    async def story(office: Office) -> None:
        office.commit(5)
        shard, stack = await office.loaded(), ExitStack()
        if obstacle == "disk":
            stack.enter_context(full_disk(office.partition))
        elif obstacle == "size":
            await office.host.configure(TOPIC, max_message_bytes="100")
        elif obstacle == "touch":
            office.current = False
        elif obstacle in ("follower", "moved"):
            image = shared(NODE, FOLLOWER, leader=NODE if obstacle == "follower" else FOLLOWER)
            await office.host.change(**{TOPIC: image})
        end_offset, before = office.partition.log.end_offset, reloads()
        again = repeated(6, generation=3 if obstacle == "stranger" else -1)
        with stack:
            assert not office.writes_at_once(again)
        assert (office.position(shard), office.partition.log.end_offset) == (5, end_offset)
        assert reloads() == before
        assert office.coordinator.loaded_shards() == [shard]

    tell(story, tmp_path)


def test_without_its_topic_there_is_nothing_to_write_to(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        office.coordinator = office.open()
        assert not office.writes_at_once(repeated(6))
        assert office.commit(6) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        await office.follow(ALONE)
        await office.loaded()
        assert office.commit(6) == [KEPT]

    tell(story, tmp_path)


HOUR_MS = 3_600_000
SESSION_MS = 10_000


def settled(office: Office) -> list[str]:
    """What is due happens, one thing of a group at a time; the members who are left."""
    for _ in range(4):
        office.coordinator.write_everywhere(lambda shard, now_ms: shard.tick(now_ms))
    [shard] = office.coordinator.shards()
    group = shard.groups["consumers"]
    assert isinstance(group, ConsumerGroup)
    return sorted(group.members)


async def with_members(office: Office, *names: str) -> ScriptedClock:
    """Its clock, from when consumers have joined that may be silent for a session."""
    office.config = GroupsConfig(group_consumer_session_timeout_ms=SESSION_MS)
    office.clock = clock = ScriptedClock(office.host.now())
    await office.restart()
    await office.loaded()
    told = [office.ask(heartbeat, name) for name in names]
    clock.passes(1_000)
    assert settled(office) == sorted(names)
    assert all(told)
    return clock


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_a_clock_that_is_set_ends_no_session_and_lengthens_none(tmp_path: Path, by_ms: int) -> None:
    async def story(office: Office) -> None:
        clock = await with_members(office, "a", "b")
        clock.is_set(by_ms)
        clock.passes(SESSION_MS - 1)
        assert settled(office) == ["a", "b"]
        clock.passes(1)
        assert settled(office) == []

    tell(story, tmp_path)


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_who_writes_first_after_it_was_set_is_watched_from_then_on(
    tmp_path: Path, by_ms: int
) -> None:
    async def story(office: Office) -> None:
        clock = await with_members(office, "a")
        office.commit(5)
        clock.passes(5_000)
        clock.is_set(by_ms)
        assert office.writes_at_once(repeated(6))
        office.ask(heartbeat, "b")
        clock.passes(5_000)
        assert settled(office) == ["b"]
        [shard] = office.coordinator.shards()
        found = shard.offsets.find(GROUP, "orders", 0)
        assert found is not None
        assert found.commit_timestamp_ms == clock.time_ms - 5_000, "in the new time of day"
        clock.passes(SESSION_MS)
        assert settled(office) == []

    tell(story, tmp_path)


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_timers_of_the_loop_run_as_if_nobody_had_set_the_clock(tmp_path: Path, by_ms: int) -> None:
    async def story(office: Office) -> None:
        set_by_ms = 0
        office.clock = Clock(lambda: time.time_ns() + set_by_ms * 1_000_000)
        office.config = GroupsConfig(group_consumer_session_timeout_ms=500)
        await office.restart()
        shard = await office.loaded()
        [silent] = [office.ask(heartbeat, "silent")]
        while not silent:
            await asyncio.sleep(0.001)
        began = time.monotonic()
        set_by_ms = by_ms
        group = shard.groups["consumers"]
        assert office.commit(6) == [KEPT]
        while not group.is_empty:
            assert time.monotonic() - began < 10, "its session never ends"
            await asyncio.sleep(0.01)
        assert time.monotonic() - began > 0.4, "its session ended at once"

    tell(story, tmp_path)
