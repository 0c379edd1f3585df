"""Transactions of ottla's own producer, in both versions of the protocol, against the broker under test."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from ottla import (
    ApiError,
    AsyncConsumer,
    AsyncProducer,
    ConfigError,
    OffsetAndMetadata,
    OttlaError,
    Producer,
    TopicPartition,
)
from tests.support.clients import consume, create_topic, unique_name

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 30


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


def committed(bootstrap: str, topic: str) -> list[bytes | None]:
    return [m.value() for m in consume(bootstrap, topic, isolation_level="read_committed")]


@pytest.fixture(params=["version 2", "version 1"])
def implicit(request: pytest.FixtureRequest) -> bool:
    """Whether partitions join a transaction by themselves (KIP-890)."""
    return bool(request.param == "version 2")


async def ready(bootstrap: str, implicit: bool, **settings: Any) -> AsyncProducer:
    settings.setdefault("transactional_id", unique_name("tx"))
    producer = AsyncProducer(bootstrap_servers=bootstrap, **settings)
    await producer.init_transactions()
    transactions = producer._core.transactions
    # Every broker there is speaks the older version, too; the newer one only with the feature.
    transactions.implicit_add = transactions.implicit_add and implicit
    return producer


def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    bootstrap: str, topic: str, implicit: bool
) -> None:
    async def story() -> None:
        async with await ready(bootstrap, implicit) as producer:
            for n in range(6):
                producer.begin_transaction()
                for m in range(3):
                    await producer.send(topic, b"%d %d" % (n, m))
                await (producer.abort_transaction() if n % 2 else producer.commit_transaction())

    run(story())
    expected = [b"%d %d" % (n, m) for n in (0, 2, 4) for m in range(3)]
    assert committed(bootstrap, topic) == expected


def test_records_already_written_are_aborted_too(
    bootstrap: str, topic: str, implicit: bool
) -> None:
    async def story() -> None:
        async with await ready(bootstrap, implicit) as producer:
            producer.begin_transaction()
            await producer.send_and_wait(topic, b"written and aborted")
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"kept")

    run(story())
    assert committed(bootstrap, topic) == [b"kept"]
    assert len(consume(bootstrap, topic, isolation_level="read_uncommitted")) == 2


def test_a_block_that_raises_aborts(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap, transactional_id=unique_name("tx")) as producer:
        producer.init_transactions()
        with suppress(KeyError), producer.transaction():
            producer.send(topic, b"never seen")
            raise KeyError
        with producer.transaction():
            producer.send(topic, b"seen")
    assert committed(bootstrap, topic) == [b"seen"]


def test_an_empty_transaction_costs_nothing_and_harms_nothing(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap, transactional_id=unique_name("tx")) as producer:
        producer.init_transactions()
        for _ in range(3):
            with producer.transaction():
                pass
        producer.begin_transaction()
        producer.abort_transaction()
        with producer.transaction():
            producer.send(topic, b"v")
    assert committed(bootstrap, topic) == [b"v"]


def test_a_newer_producer_fences_the_older(bootstrap: str, topic: str, implicit: bool) -> None:
    async def story() -> None:
        name = unique_name("tx")
        old = await ready(bootstrap, implicit, transactional_id=name)
        old.begin_transaction()
        await old.send_and_wait(topic, b"of the old one")
        new = await ready(bootstrap, implicit, transactional_id=name)
        async with new.transaction():
            await new.send(topic, b"of the new one")
        with pytest.raises(ApiError):
            await old.commit_transaction()
        with pytest.raises(ApiError):
            old.begin_transaction()
        await old.close()
        await new.close()

    run(story())
    assert committed(bootstrap, topic) == [b"of the new one"]


def test_a_failed_record_dooms_its_transaction_only(bootstrap: str, implicit: bool) -> None:
    topic = create_topic(bootstrap, max_message_bytes=5000)

    async def story() -> None:
        async with await ready(bootstrap, implicit) as producer:
            producer.begin_transaction()
            await producer.send(topic, b"small")
            failing = await producer.send(topic, bytes(9000))
            with pytest.raises(ApiError):
                await failing
            with pytest.raises(ApiError):
                await producer.commit_transaction()
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"next")

    run(story())
    assert committed(bootstrap, topic) == [b"next"]


def test_offsets_commit_with_the_transaction(bootstrap: str, topic: str, implicit: bool) -> None:
    group, partition = unique_name("group"), TopicPartition(topic, 0)

    async def story() -> list[OffsetAndMetadata | None]:
        found = []
        async with (
            await ready(bootstrap, implicit) as producer,
            AsyncConsumer(bootstrap_servers=bootstrap, group_id=group) as consumer,
        ):
            for offset, commit in ((3, True), (9, False)):
                producer.begin_transaction()
                await producer.send(topic, b"v")
                offsets = {partition: OffsetAndMetadata(offset, "note")}
                await producer.send_offsets_to_transaction(offsets, group)
                await (producer.commit_transaction() if commit else producer.abort_transaction())
                found.append((await consumer.committed([partition]))[partition])
        return found

    assert run(story()) == [OffsetAndMetadata(3, "note")] * 2


def test_consume_transform_produce_with_the_groups_generation(bootstrap: str) -> None:
    source, sink = create_topic(bootstrap, "source"), create_topic(bootstrap, "sink")
    group = unique_name("group")
    with Producer(bootstrap_servers=bootstrap) as producer:
        for n in range(100):
            producer.send(source, b"%d" % n)

    async def story() -> None:
        async with (
            await ready(bootstrap, True) as producer,
            AsyncConsumer(
                bootstrap_servers=bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            ) as consumer,
        ):
            await consumer.subscribe([source])
            done = 0
            while done < 100:
                records = await consumer.poll(5, max_records=30)
                async with producer.transaction():
                    for record in records:
                        await producer.send(sink, record.value + b"!")
                    position = {TopicPartition(source, 0): records[-1].offset + 1}
                    member = consumer.group_metadata()
                    await producer.send_offsets_to_transaction(position, member)
                done += len(records)
            producer.begin_transaction()
            stale = member._replace(generation=member.generation + 5)
            with pytest.raises(ApiError):  # a generation that is not the group's may commit nothing
                await producer.send_offsets_to_transaction(position, stale)
            await producer.abort_transaction()

    run(story())
    assert committed(bootstrap, sink) == [b"%d!" % n for n in range(100)]


def test_calls_in_the_wrong_order_say_what_is_missing(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap) as plain:
        with pytest.raises(OttlaError, match=r"set transactional.id"):
            plain.init_transactions()
        with pytest.raises(OttlaError, match="call init_transactions first"):
            plain.begin_transaction()
    with Producer(bootstrap_servers=bootstrap, transactional_id=unique_name("tx")) as producer:
        producer.init_transactions()
        with pytest.raises(OttlaError, match="call begin_transaction"):
            producer.send(topic, b"v")
    with pytest.raises(ConfigError, match="acks=all"):
        Producer(bootstrap_servers=bootstrap, transactional_id="t", acks=1)
