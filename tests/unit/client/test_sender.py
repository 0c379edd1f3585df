"""What a producer does when brokers refuse, fall silent or hand over: told by brokers that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.client.async_producer import AsyncProducer
from ottla.client.errors import RequestTimedOut
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.init_producer_id import InitProducerIdResponse
from ottla.protocol.apis.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.record import read_records
from tests.unit.client.scripted import ScriptedBroker, metadata, run

QUICK = {"retry_backoff_ms": 1, "reconnect_backoff_ms": 1, "linger_ms": 0}


class Log:
    """One partition as a broker keeps it: sequences are checked as a broker does."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.headers: list[tuple[int, int, int]] = []
        self.expected = (0, 0)
        self.faults: list[int | Callable[[], int | None]] = []

    def answer(self, request: ProduceRequest, version: int) -> ProduceResponse | None:
        topic = request.topic_data[0]
        data = topic.partition_data[0]
        assert data.records is not None
        code = self.write(bytes(data.records))
        if code is None:
            return None
        part = PartitionProduceResponse(
            index=data.index, error_code=max(code, 0), base_offset=-1 if code else self.base
        )
        return ProduceResponse(
            responses=[TopicProduceResponse(name=topic.name, partition_responses=[part])]
        )

    def write(self, batch: bytes) -> int | None:
        header = parse_header(batch)
        self.headers.append((header.producer_epoch, header.base_sequence, header.count))
        if self.faults:
            fault = self.faults.pop(0)
            code = fault() if callable(fault) else fault
            if code != 0:
                return code
        epoch, sequence = self.expected
        if header.producer_epoch != epoch:
            epoch, sequence = header.producer_epoch, 0
        if header.base_sequence + header.count <= sequence:
            return 0  # it came before, and its answer was too late
        if header.base_sequence != sequence:
            return int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.base = len(self.values)
        self.values += [record.value for record in read_records(batch)]
        self.expected = (epoch, sequence + header.count)
        return 0


@asynccontextmanager
async def broker_with(log: Log) -> AsyncIterator[ScriptedBroker]:
    async with ScriptedBroker() as broker:
        broker.answers[ApiKey.METADATA] = metadata({1: broker}, leaders={"t": [1]})
        broker.answers[ApiKey.INIT_PRODUCER_ID] = lambda request, version: InitProducerIdResponse(
            producer_id=5, producer_epoch=0
        )
        broker.answers[ApiKey.PRODUCE] = log.answer
        yield broker


def producer_of(broker: ScriptedBroker, **settings: Any) -> AsyncProducer:
    return AsyncProducer({}, bootstrap_servers=broker.bootstrap, **QUICK, **settings)


async def send_each(producer: AsyncProducer, count: int) -> list[Any]:
    """So many batches of one record, many of them in flight at once."""
    sent = [await producer.send("t", b"%d" % n) for n in range(count)]
    return await asyncio.gather(*sent, return_exceptions=True)


def test_batches_that_are_refused_for_a_while_are_written_in_order() -> None:
    async def story() -> None:
        log = Log()
        log.faults = [ErrorCode.NOT_ENOUGH_REPLICAS, 0, ErrorCode.REQUEST_TIMED_OUT]
        async with broker_with(log) as broker, producer_of(broker, batch_size=1) as producer:
            written = await send_each(producer, 10)
        assert log.values == [b"%d" % n for n in range(10)]
        assert [metadata.offset for metadata in written] == list(range(10))

    run(story())


def test_a_batch_that_is_given_up_makes_room_for_the_next_epoch() -> None:
    async def story() -> None:
        log = Log()
        log.faults = [0, ErrorCode.INVALID_RECORD]
        async with broker_with(log) as broker, producer_of(broker, batch_size=1) as producer:
            outcomes = await send_each(producer, 6)
        assert isinstance(outcomes[1], ApiError)
        assert log.values == [b"0", b"2", b"3", b"4", b"5"]
        assert {epoch for epoch, _, _ in log.headers} == {0, 1}

    run(story())


def test_a_producer_that_the_broker_forgot_goes_on_with_the_next_epoch() -> None:
    async def story() -> None:
        log = Log()
        log.faults = [0, ErrorCode.UNKNOWN_PRODUCER_ID]
        async with broker_with(log) as broker, producer_of(broker) as producer:
            for n in range(3):
                await producer.send_and_wait("t", b"%d" % n)
        assert log.values == [b"0", b"1", b"2"]
        assert log.headers[2:] == [(1, 0, 1), (1, 1, 1)]

    run(story())


def test_a_broker_that_hangs_up_gets_the_same_batch_again() -> None:
    async def story() -> None:
        log = Log()
        async with broker_with(log) as broker, producer_of(broker) as producer:

            def hang_up() -> None:
                broker.drop_connections()

            log.faults = [hang_up]
            assert (await producer.send_and_wait("t", b"v")).offset == 0
        assert log.headers == [(0, 0, 1), (0, 0, 1)]

    run(story())


def test_a_silent_broker_costs_one_time_out_and_a_new_connection() -> None:
    async def story() -> None:
        log = Log()
        log.faults = [lambda: None]
        async with broker_with(log) as broker:
            async with producer_of(broker, request_timeout_ms=50) as producer:
                await producer.send_and_wait("t", b"v")
            assert broker.accepted >= 2
        assert log.values == [b"v"]

    run(story())


def test_what_cannot_be_written_in_time_is_given_up() -> None:
    async def story() -> None:
        log = Log()
        log.faults = [ErrorCode.NOT_ENOUGH_REPLICAS] * 10_000
        settings = {"request_timeout_ms": 100, "delivery_timeout_ms": 150}
        async with broker_with(log) as broker, producer_of(broker, **settings) as producer:
            error = (await send_each(producer, 1))[0]
        assert isinstance(error, ApiError | RequestTimedOut)

    run(story())


def test_a_new_leader_gets_what_the_old_one_refuses() -> None:
    async def story() -> None:
        log, refusals = Log(), Log()
        async with broker_with(log) as new, broker_with(refusals) as old:
            brokers = {1: old, 2: new}
            leaders = {"t": [1]}
            for each in (old, new):
                each.answers[ApiKey.METADATA] = metadata(brokers, leaders=leaders)

            def move() -> int:
                leaders["t"] = [2]
                return int(ErrorCode.NOT_LEADER_OR_FOLLOWER)

            # It may be asked again before the answer that names the new one is there.
            refusals.faults = [move, *[int(ErrorCode.NOT_LEADER_OR_FOLLOWER)] * 100]
            async with producer_of(old) as producer:
                await producer.send_and_wait("t", b"v")
        assert (refusals.values, log.values) == ([], [b"v"])

    run(story())


def test_records_too_large_together_are_written_one_by_one() -> None:
    async def story() -> None:
        log = Log()
        log.faults = [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE]
        one = {"max_in_flight_requests_per_connection": 1}
        async with broker_with(log) as broker, producer_of(broker, **one) as producer:
            producer._core.accumulator.linger_ms = 20
            written = await send_each(producer, 5)
        assert log.values == [b"%d" % n for n in range(5)]
        assert [metadata.offset for metadata in written] == list(range(5))
        assert [count for _, _, count in log.headers] == [5, 2, 1, 1, 3]

    run(story())


def test_a_callback_that_fails_keeps_nobody_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        told: list[int] = []
        async with broker_with(Log()) as broker, producer_of(broker) as producer:

            def fail(*what: Any) -> None:
                raise ValueError("a mistake")

            await producer.send("t", b"0", on_delivery=fail)
            await producer.send("t", b"1", on_delivery=lambda *what: told.append(what[0].offset))
        assert told == [1]

    run(story())
    assert "a delivery callback failed" in caplog.text
