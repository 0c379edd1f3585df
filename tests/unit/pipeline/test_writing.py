"""The producer of a task against a real broker: batches made elsewhere arrive whole, in order, and once."""

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.cluster import TRANSACTION
from ottla.client.errors import RequestTimedOut, check
from ottla.client.producer_settings import ProducerSettings
from ottla.client.record_encoder import RecordEncoder
from ottla.client.settings import read_settings
from ottla.pipeline.writing import Slot, TaskProducer
from ottla.pipeline.writing_link import Link
from ottla.protocol.apis.end_txn import EndTxnRequest
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.records.batch import TRANSACTIONAL_FLAG, BatchHeader, pack_batch
from tests.support.clients import consume, create_topic


def made(values: list[bytes], *, transactional: bool = False) -> bytearray:
    """A batch without a producer, as the encoder leaves it."""
    encoder = RecordEncoder(1 << 30)
    for value in values:
        encoder.append(None, value, (), 1_700_000_000_000)
    flags = TRANSACTIONAL_FLAG if transactional else 0
    stamp, count = encoder.base_timestamp, encoder.count
    header = BatchHeader(0, 0, -1, 2, 0, flags, count - 1, stamp, stamp, -1, -1, -1, count)
    return pack_batch(header, encoder.section())


@pytest.fixture
def link(bootstrap: str) -> Iterator[Link]:
    yield from opened(bootstrap)


def opened(bootstrap: str, **settings: Any) -> Iterator[Link]:
    values = {name.replace("_", "."): value for name, value in settings.items()}
    made = Link(read_settings(ProducerSettings, {"bootstrap.servers": bootstrap, **values}))
    yield made
    made.run(made.cluster.close())
    made.thread.stop()


def values_of(bootstrap: str, topic: str, **settings: Any) -> list[bytes | None]:
    return [message.value() for message in consume(bootstrap, topic, **settings)]


def test_batches_arrive_in_order_though_several_are_under_way(
    bootstrap: str, topic: str, link: Link
) -> None:
    expected = [b"%d" % n for n in range(400)]
    with TaskProducer(link, None) as producer:
        for first in range(0, 400, 10):
            producer.send(TopicPartition(topic, 0), made(expected[first : first + 10]), 10)
        producer.flush()
    assert values_of(bootstrap, topic) == expected


def test_a_slot_counts_only_when_somebody_else_commits_it(
    bootstrap: str, topic: str, link: Link
) -> None:
    slot = link.run(begun(link, f"slot-{topic}"))
    with TaskProducer(link, slot) as producer:
        producer.send(TopicPartition(topic, 0), made([b"a", b"b"], transactional=True), 2)
        producer.flush()
    assert values_of(bootstrap, topic, isolation_level="read_committed") == []
    link.run(ended(link, slot))
    assert values_of(bootstrap, topic, isolation_level="read_committed") == [b"a", b"b"]


def test_a_slot_that_was_given_up_fails_its_task(bootstrap: str, topic: str, link: Link) -> None:
    slot = link.run(begun(link, f"slot-{topic}"))
    link.run(begun(link, f"slot-{topic}"))  # fences the first
    with TaskProducer(link, slot) as producer:
        producer.send(TopicPartition(topic, 0), made([b"late"], transactional=True), 1)
        with pytest.raises(ApiError, match="epoch"):
            producer.flush()
        with pytest.raises(ApiError, match="epoch"):
            producer.send(TopicPartition(topic, 0), made([b"later"], transactional=True), 1)


def test_memory_is_bounded_by_buffer_memory(bootstrap: str, topic: str) -> None:
    for link in opened(bootstrap, buffer_memory=10_000):
        with TaskProducer(link, None) as producer:
            for n in range(100):
                producer.send(TopicPartition(topic, 0), made([b"%05d" % n * 1000]), 1)
                assert producer._accumulator.buffered_bytes <= 10_000
            producer.flush()
    assert len(values_of(bootstrap, topic)) == 100


def test_a_batch_that_is_too_large_for_its_topic_goes_in_parts(bootstrap: str, link: Link) -> None:
    topic = create_topic(bootstrap, max_message_bytes=2000)
    expected = [b"%03d" % n * 100 for n in range(20)]
    with TaskProducer(link, None) as producer:
        producer.send(TopicPartition(topic, 0), made(expected), 20)
        producer.flush()
    assert values_of(bootstrap, topic) == expected


def test_a_record_that_is_too_large_for_its_topic_fails_the_task(
    bootstrap: str, link: Link
) -> None:
    topic = create_topic(bootstrap, max_message_bytes=200)
    with TaskProducer(link, None) as producer:
        producer.send(TopicPartition(topic, 0), made([b"x" * 100, b"x" * 1000]), 2)
        with pytest.raises(ApiError, match=r"exceeds max\.message\.bytes"):
            producer.flush()


def test_a_topic_is_made_where_the_broker_does_that(bootstrap: str, link: Link) -> None:
    with TaskProducer(link, None) as producer:
        assert producer.partitions(f"made-by-writing-{id(link)}") == 4


def test_a_topic_that_never_comes_is_named(own_broker: Any) -> None:
    broker = own_broker({"auto.create.topics.enable": "false"})
    for link in opened(broker.bootstrap, max_block_ms=200):
        with (
            TaskProducer(link, None) as producer,
            pytest.raises(RequestTimedOut, match="--create --topic nowhere"),
        ):
            producer.partitions("nowhere")


def test_a_link_knows_whether_there_are_sinks(link: Link) -> None:
    assert link.has_sinks() in (True, False)


async def begun(link: Link, name: str) -> Slot:
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    answer = await link.cluster.ask_coordinator(name, request, kind=TRANSACTION)
    check(answer.error_code)
    return Slot(name, answer.producer_id, answer.producer_epoch)


async def ended(link: Link, slot: Slot) -> None:
    request = EndTxnRequest(
        transactional_id=slot.transactional_id,
        producer_id=slot.producer_id,
        producer_epoch=slot.producer_epoch,
        committed=True,
    )
    answer = await link.cluster.ask_coordinator(slot.transactional_id, request, kind=TRANSACTION)
    check(answer.error_code)
