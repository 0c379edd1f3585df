"""What a producer acknowledges is written once and in order, and every delivery is told how it ended."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from ottla.base.errors import ApiError, OttlaError
from ottla.client.async_producer import AsyncProducer
from ottla.client.delivery import Delivery
from ottla.client.producer import Producer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.init_producer_id import InitProducerIdResponse
from ottla.protocol.apis.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.client.scripted import ScriptedBroker, metadata, run
from tests.unit.client.test_sender import Log

QUICK = {"retry_backoff_ms": 1, "reconnect_backoff_ms": 1, "linger_ms": 0}


class Logs:
    """Two partitions of a broker, whose answers may be lost after it has written."""

    broker: ScriptedBroker

    def __init__(self) -> None:
        self.logs = [Log(), Log()]
        # What happens instead of an answer, once the batches are written; it says whether there is one after all.
        self.instead: Callable[[], bool] = lambda: True

    def answer(self, request: ProduceRequest, version: int) -> ProduceResponse | None:
        parts = []
        for data in request.topic_data[0].partition_data:
            log = self.logs[data.index]
            code = log.write(bytes(data.records or b"")) or 0
            base = -1 if code else log.base
            parts.append(
                PartitionProduceResponse(index=data.index, error_code=code, base_offset=base)
            )
        if not self.instead():
            return None
        return ProduceResponse(
            responses=[TopicProduceResponse(name="t", partition_responses=parts)]
        )

    @property
    def values(self) -> list[list[bytes | None]]:
        return [log.values for log in self.logs]


@asynccontextmanager
async def serving(logs: Logs) -> AsyncIterator[ScriptedBroker]:
    async with ScriptedBroker() as broker:
        logs.broker = broker
        broker.answers[ApiKey.METADATA] = metadata({1: broker}, leaders={"t": [1, 1]})
        broker.answers[ApiKey.INIT_PRODUCER_ID] = lambda request, version: InitProducerIdResponse(
            producer_id=5, producer_epoch=0
        )
        broker.answers[ApiKey.PRODUCE] = logs.answer
        yield broker


@asynccontextmanager
async def producing(logs: Logs, **settings: Any) -> AsyncIterator[AsyncProducer]:
    async with serving(logs) as broker:
        settings = {"request_timeout_ms": 60, "batch_size": 1, **QUICK, **settings}
        async with AsyncProducer({}, bootstrap_servers=broker.bootstrap, **settings) as producer:
            yield producer


def hanging_up_once(logs: Logs) -> Callable[[], bool]:
    """The connection ends in the place of the first answer."""

    def instead() -> bool:
        logs.instead = lambda: True
        logs.broker.drop_connections()
        return False

    return instead


def silent_on_its_connection(logs: Logs) -> Callable[[], bool]:
    """No answer comes on the connection of the first request."""
    seen: list[int] = []

    def instead() -> bool:
        seen.append(logs.broker.accepted)
        return seen[0] != seen[-1]

    return instead


async def outcomes(deliveries: list[Delivery]) -> list[Any]:
    return await asyncio.gather(*deliveries, return_exceptions=True)


def test_a_batch_that_was_written_is_not_numbered_anew_because_another_was_refused() -> None:
    """Both partitions write and lose their answers; then one refuses: the other must know the repetition."""

    async def story() -> None:
        logs = Logs()
        async with producing(logs, retry_backoff_ms=100) as producer:
            await producer.send_and_wait("t", b"first", partition=0)
            logs.instead = hanging_up_once(logs)
            sent = [await producer.send("t", b"here", partition=1)]
            while not logs.values[1]:
                await asyncio.sleep(0)
            assert not sent[0].done()
            logs.logs[0].faults = [ErrorCode.INVALID_RECORD]
            refused = await producer.send("t", b"refused", partition=0)
            assert isinstance((await outcomes([refused]))[0], ApiError)
            sent.append(await producer.send("t", b"next", partition=1))
            found = await outcomes(sent)
        assert logs.values == [[b"first"], [b"here", b"next"]]
        assert [each.offset for each in found] == [0, 1]

    run(story())


def test_batches_behind_one_that_is_given_up_are_not_written_twice() -> None:
    """All three are written, and no answer comes; the first is refused when it comes again."""

    async def story() -> None:
        logs = Logs()
        logs.instead = silent_on_its_connection(logs)
        async with producing(logs) as producer:
            sent = [await producer.send("t", b"%d" % n, partition=0) for n in range(3)]
            while len(logs.values[0]) < 3:
                await asyncio.sleep(0)
            logs.logs[0].faults = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
            found = await outcomes(sent)
            await producer.send_and_wait("t", b"last", partition=0)
        assert isinstance(found[0], ApiError)
        assert logs.values[0] == [b"0", b"1", b"2", b"last"]

    run(story())


def test_batches_behind_one_that_was_never_written_are_numbered_anew() -> None:
    """The broker says of each that one in front of it is missing: none of them was written before."""

    async def story() -> None:
        logs = Logs()
        logs.logs[0].faults = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3 + [ErrorCode.INVALID_RECORD]
        async with producing(logs, max_in_flight_requests_per_connection=3) as producer:
            sent = [await producer.send("t", b"%d" % n, partition=0) for n in range(4)]
            found = await outcomes(sent)
        assert isinstance(found[0], ApiError)
        assert logs.values[0] == [b"1", b"2", b"3"]

    run(story())


def test_partitions_may_be_asked_for_before_the_first_send() -> None:
    logs = Logs()
    done = threading.Event()

    def program(bootstrap: str) -> None:
        with Producer({}, bootstrap_servers=bootstrap, **QUICK) as producer:
            assert producer.partitions_for("t") == 2
            producer.send("t", b"v", partition=0)
        done.set()

    async def story() -> None:
        async with serving(logs) as broker:
            await asyncio.to_thread(program, broker.bootstrap)

    run(story())
    assert done.is_set()
    assert logs.values[0] == [b"v"]


def test_closing_tells_of_what_is_in_flight() -> None:
    async def story() -> None:
        logs = Logs()
        logs.instead = lambda: False
        told: list[Any] = []
        async with producing(logs, request_timeout_ms=5000) as producer:
            sent = [
                await producer.send("t", b"v", on_delivery=lambda *outcome: told.append(outcome))
                for _ in range(20)
            ]
            while not logs.values[0] + logs.values[1]:
                await asyncio.sleep(0)
            await producer.close(timeout_s=0.01)
            await producer.close()
            assert all(each.done() for each in sent)
            assert len(told) == 20
            found = await outcomes(sent)
            assert all(isinstance(each, OttlaError) for each in found)
            assert any("is unknown" in str(each) for each in found)

    run(story())


def test_every_delivery_of_threads_that_send_while_the_producer_is_closed_is_settled() -> None:
    logs = Logs()
    sent: list[Delivery] = []

    def send(producer: Producer) -> None:
        with suppress(OttlaError):
            while True:
                sent.append(producer.send("t", b"v"))

    def program(bootstrap: str) -> None:
        producer = Producer({}, bootstrap_servers=bootstrap, **QUICK)
        threads = [threading.Thread(target=send, args=(producer,)) for _ in range(4)]
        for each in threads:
            each.start()
        while len(sent) < 2000:
            time.sleep(0)
        producer.close(0.01)
        for each in threads:
            each.join(10)
            assert not each.is_alive()

    async def story() -> None:
        async with serving(logs) as broker:
            await asyncio.to_thread(program, broker.bootstrap)

    run(story())
    assert [each for each in sent if not each.done()] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_is_told_that_the_producer_is_its_parents() -> None:
    producer = Producer({}, bootstrap_servers="127.0.0.1:1")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        said = ""
        for call in (lambda: producer.send("t", b"v"), producer.flush):
            try:
                call()
            except OttlaError as error:
                said += f"{error}\n"
        producer.close()
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        lines = pipe.read().splitlines()
    os.waitpid(child, 0)
    producer.close()
    assert len(lines) == 2
    assert all("make a client in each process" in line for line in lines)
