"""A commit that returns is a commit; one that fails says what can be done, and spoils no other transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.base.errors import ApiError, OttlaError
from ottla.client.async_producer import AsyncProducer
from ottla.client.errors import RequestTimedOut
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from ottla.protocol.apis.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.apis.find_coordinator import Coordinator, FindCoordinatorResponse
from ottla.protocol.apis.init_producer_id import InitProducerIdResponse
from ottla.protocol.apis.metadata import MetadataRequest, MetadataResponse
from ottla.protocol.errors import ErrorCode
from tests.unit.client.scripted import ScriptedBroker, metadata, run
from tests.unit.client.test_sender import Log

QUICK = {"retry_backoff_ms": 1, "reconnect_backoff_ms": 1, "linger_ms": 0}


class Coordination:
    """A broker with one partition and the coordinator of one transactional id."""

    def __init__(self) -> None:
        self.log = Log()
        self.ends: list[bool] = []
        self.faults: list[int | None] = []
        self.epoch = 0
        self.metadata_error = 0
        self.broker: Any = None

    def init(self, request: Any, version: int) -> InitProducerIdResponse:
        self.epoch += request.producer_epoch >= 0
        return InitProducerIdResponse(producer_id=5, producer_epoch=self.epoch)

    def add(self, request: AddPartitionsToTxnRequest, version: int) -> AddPartitionsToTxnResponse:
        results = [
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=n) for n in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def end(self, request: EndTxnRequest, version: int) -> EndTxnResponse | None:
        code = self.faults.pop(0) if self.faults else 0
        if code == 0:
            self.ends.append(request.committed)
        return None if code is None else EndTxnResponse(error_code=code)

    def describe(self, request: MetadataRequest, version: int) -> MetadataResponse:
        told = metadata({1: self.broker}, leaders={"t": [1]})(request, version)
        assert isinstance(told, MetadataResponse)
        told.error_code = self.metadata_error
        return told


@asynccontextmanager
async def transacting(coordination: Coordination, **settings: Any) -> AsyncIterator[AsyncProducer]:
    async with ScriptedBroker() as broker:
        coordination.broker = broker
        found = Coordinator(key="tx", node_id=1, host="127.0.0.1", port=broker.port)
        answers: dict[ApiKey, Callable[[Any, int], Any]] = {
            ApiKey.METADATA: coordination.describe,
            ApiKey.FIND_COORDINATOR: lambda _, __: FindCoordinatorResponse(coordinators=[found]),
            ApiKey.INIT_PRODUCER_ID: coordination.init,
            ApiKey.ADD_PARTITIONS_TO_TXN: coordination.add,
            ApiKey.END_TXN: coordination.end,
            ApiKey.PRODUCE: coordination.log.answer,
        }
        broker.answers.update(answers)
        settings = {"transactional_id": "tx", **QUICK, **settings}
        async with AsyncProducer({}, bootstrap_servers=broker.bootstrap, **settings) as producer:
            await producer.init_transactions()
            yield producer


def test_a_commit_fails_if_records_were_given_up_without_having_been_sent() -> None:
    async def story() -> None:
        it = Coordination()
        async with transacting(it) as producer:
            async with producer.transaction():
                await producer.send_and_wait("t", b"first")
            producer.begin_transaction()
            it.log.faults = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 1000
            it.metadata_error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            lost = await producer.send("t", b"lost")
            with pytest.raises(OttlaError):
                await lost
            with pytest.raises(OttlaError):
                await producer.commit_transaction()
        assert it.log.values == [b"first"]
        assert it.ends == [True]

    run(story())


def test_a_block_whose_commit_fails_aborts_and_the_next_one_is_written() -> None:
    async def story() -> None:
        it = Coordination()
        async with transacting(it) as producer:
            it.log.faults = [ErrorCode.INVALID_RECORD]
            with pytest.raises(ApiError):
                async with producer.transaction():
                    await producer.send("t", b"refused")
            async with producer.transaction():
                await producer.send("t", b"next")
        assert it.ends == [False, True]
        assert it.log.values == [b"next"]

    run(story())


def test_a_commit_that_was_not_answered_may_be_asked_for_again() -> None:
    async def story() -> None:
        it = Coordination()
        it.faults = [None]
        settings = {"request_timeout_ms": 5000, "max_block_ms": 100}
        async with transacting(it, **settings) as producer:
            producer.begin_transaction()
            await producer.send_and_wait("t", b"v")
            with pytest.raises(RequestTimedOut, match="call the same again"):
                await producer.commit_transaction()
            with pytest.raises(OttlaError, match="to learn its outcome"):
                producer.begin_transaction()
            with pytest.raises(OttlaError, match="to learn its outcome"):
                await producer.abort_transaction()
            it.broker.drop_connections()
            await producer.commit_transaction()
            assert it.ends == [True]
            async with producer.transaction():
                await producer.send("t", b"next")
        assert it.log.values == [b"v", b"next"]

    run(story())


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_was_cancelled_may_be_asked_for_again(committed: bool) -> None:
    async def story() -> None:
        it = Coordination()
        it.faults = [None]
        async with transacting(it) as producer:

            async def end() -> None:
                await (producer.commit_transaction() if committed else producer.abort_transaction())

            producer.begin_transaction()
            await producer.send_and_wait("t", b"v")
            ending = asyncio.ensure_future(end())
            while it.faults:
                await asyncio.sleep(0)
            ending.cancel()
            await asyncio.wait([ending])
            it.broker.drop_connections()
            await end()
            async with producer.transaction():
                await producer.send("t", b"next")
        assert it.ends == [committed, True]

    run(story())


def test_nothing_is_sent_while_a_commit_is_under_way() -> None:
    async def story() -> None:
        it = Coordination()
        async with transacting(it) as producer:
            producer.begin_transaction()
            await producer.send("t", b"v")
            commit = asyncio.ensure_future(producer.commit_transaction())
            await asyncio.sleep(0)
            with pytest.raises(OttlaError, match="is being committed"):
                await producer.send("t", b"late")
            await commit
            async with producer.transaction():
                await producer.send("t", b"next")
        assert it.log.values == [b"v", b"next"]

    run(story())


def test_an_error_of_the_block_is_raised_even_if_the_abort_fails() -> None:
    async def story() -> None:
        it = Coordination()
        async with transacting(it) as producer:
            it.faults = [ErrorCode.PRODUCER_FENCED]

            async def program() -> None:
                async with producer.transaction():
                    await producer.send_and_wait("t", b"v")
                    raise KeyError("the program's own")

            with pytest.raises(KeyError, match="the program's own") as raised:
                await program()
            assert "was not aborted either" in raised.value.__notes__[0]

    run(story())
