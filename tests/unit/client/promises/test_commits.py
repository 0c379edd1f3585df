"""Commits are stored in the order in which a program made them, and none is dropped without a word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.base.ids import TopicPartition
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.positions import OffsetAndMetadata
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.find_coordinator import Coordinator, FindCoordinatorResponse
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.client.scripted import ScriptedBroker, metadata, run
from tests.unit.client.test_fetcher import QUICK, TARGET, Partition


class Group:
    """The committed offsets of a group, as its coordinator keeps them."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self.faults: list[int | None] = []

    def answer(self, request: OffsetCommitRequest, version: int) -> OffsetCommitResponse | None:
        code = self.faults.pop(0) if self.faults else 0
        if code is None:
            return None
        topics = []
        for topic in request.topics:
            for each in topic.partitions:
                if not code:
                    target = TopicPartition(topic.name, each.partition_index)
                    self.offsets[target] = OffsetAndMetadata(
                        each.committed_offset, "", each.committed_leader_epoch
                    )
            parts = [
                OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=code)
                for p in topic.partitions
            ]
            topics.append(OffsetCommitResponseTopic(name=topic.name, partitions=parts))
        return OffsetCommitResponse(topics=topics)


@asynccontextmanager
async def committing(
    group: Group, partition: Partition | None = None, **settings: Any
) -> AsyncIterator[AsyncConsumer]:
    async with ScriptedBroker() as broker:
        broker.answers[ApiKey.METADATA] = metadata({1: broker}, leaders={"t": [1, 1]})
        broker.answers[ApiKey.FETCH] = (partition or Partition()).answer
        broker.answers[ApiKey.OFFSET_COMMIT] = group.answer
        found = Coordinator(key="g", node_id=1, host="127.0.0.1", port=broker.port)
        broker.answers[ApiKey.FIND_COORDINATOR] = lambda request, version: FindCoordinatorResponse(
            coordinators=[found]
        )
        settings = {"group_id": "g", "enable_auto_commit": False, **settings}
        async with AsyncConsumer(
            {}, bootstrap_servers=broker.bootstrap, **QUICK, **settings
        ) as made:
            await made.assign([TARGET])
            made.seek(TARGET, 0)
            yield made


def test_a_retry_of_an_older_commit_does_not_take_back_a_newer_one() -> None:
    async def story() -> None:
        group = Group()
        group.faults = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3
        async with committing(group) as consumer:
            consumer.commit_async({TARGET: 5})
            await consumer.commit({TARGET: 10})
            assert group.offsets[TARGET].offset == 10
        assert group.offsets[TARGET].offset == 10

    run(story())


def test_callbacks_come_in_the_order_of_the_commits() -> None:
    async def story() -> None:
        group, told = Group(), list[int]()

        def note(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: object) -> None:
            assert error is None
            told.append(offsets[TARGET].offset)

        group.faults = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0, ErrorCode.NOT_COORDINATOR]
        async with committing(group) as consumer:
            for offset in range(1, 6):
                consumer.commit_async({TARGET: offset}, note)
        assert told == [1, 2, 3, 4, 5]

    run(story())


def test_closing_waits_for_the_commits_that_were_begun() -> None:
    async def story() -> None:
        group, told = Group(), list[object]()
        group.faults = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 5
        async with committing(group) as consumer:
            consumer.commit_async({TARGET: 7}, lambda offsets, error: told.append(error))
        assert group.offsets[TARGET].offset == 7
        assert told == [None]

    run(story())


def test_a_commit_that_closing_cannot_wait_for_is_told() -> None:
    async def story() -> None:
        group, told = Group(), list[Any]()
        group.faults = [None]  # the coordinator says nothing
        async with committing(group) as consumer:
            consumer.commit_async({TARGET: 7}, lambda offsets, error: told.append(error))
            await consumer.close(timeout_s=0.05)
        assert "closed before the coordinator answered" in str(told[0])

    run(story())


def test_what_is_committed_says_in_which_epoch_of_its_leader_it_was_read() -> None:
    """A consumer that begins there can then notice that the log was cut meanwhile (KIP-320)."""

    async def story() -> None:
        group = Group()
        partition = Partition(*[b"%d" % n for n in range(5)])
        partition.epoch = 4
        async with committing(group, partition) as consumer:
            await consumer.poll(1, max_records=3)
            await consumer.commit()
            assert group.offsets[TARGET] == OffsetAndMetadata(3, "", 4)

    run(story())


def test_an_error_in_a_commit_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: object) -> None:
        raise ValueError("not today")

    async def story() -> None:
        group = Group()
        async with committing(group) as consumer:
            consumer.commit_async({TARGET: 1}, fail)
            await consumer.commit({TARGET: 2})
            await asyncio.sleep(0)
        assert group.offsets[TARGET].offset == 2

    run(story())
    assert "ValueError: not today" in caplog.text
