"""Produce by idempotent producers: nothing twice, nothing out of order, also over a restart."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import fetch, idempotent, produce, values


class Producer:
    """An idempotent producer of one topic."""

    def __init__(self, client: Client, topic: str, producer_id: int) -> None:
        self.client, self.topic, self.id = client, topic, producer_id

    def send(self, sequence: int, *values: bytes, epoch: int = 0) -> tuple[int, int]:
        """(error, base offset) of a batch."""
        records = idempotent(self.id, sequence, *values, epoch=epoch)
        result = produce(self.client, self.topic, records)
        return result.error_code, result.base_offset


@pytest.fixture
def producer(client: Client) -> Iterator[Producer]:
    return Producer(client, client.new_topic(), client.new_producer_id())


def test_a_batch_that_is_sent_again_is_where_it_was(producer: Producer) -> None:
    assert producer.send(0, b"a", b"b") == (0, 0)
    assert producer.send(2, b"c") == (0, 2)
    assert producer.send(0, b"a", b"b") == (0, 0)
    assert producer.send(2, b"c") == (0, 2)
    assert producer.send(3, b"d") == (0, 3)
    assert values(fetch(producer.client, producer.topic).records) == [b"a", b"b", b"c", b"d"]


def test_a_gap_is_refused_and_may_be_filled(producer: Producer) -> None:
    assert producer.send(0) == (0, 0)
    assert producer.send(2) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert producer.send(1) == (0, 1)
    assert producer.send(2) == (0, 2)


def test_the_last_five_batches_are_known(producer: Producer) -> None:
    for sequence in range(7):
        assert producer.send(sequence) == (0, sequence)
    for sequence in range(2, 7):
        assert producer.send(sequence) == (0, sequence)
    error, _ = producer.send(1)
    assert error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_of_another_size_is_no_duplicate(producer: Producer) -> None:
    producer.send(0, b"a", b"b")
    error, _ = producer.send(0, b"a")
    assert error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_older_epoch_is_refused(producer: Producer) -> None:
    assert producer.send(0, epoch=1) == (0, 0)
    assert producer.send(1, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)


def test_a_newer_epoch_starts_at_zero(producer: Producer) -> None:
    assert producer.send(0) == (0, 0)
    assert producer.send(1, epoch=1) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert producer.send(0, epoch=1) == (0, 1)


def test_sequences_wrap_around(producer: Producer) -> None:
    last = 2**31 - 1
    assert producer.send(last) == (0, 0)
    assert producer.send(0) == (0, 1)
    assert producer.send(last) == (0, 0)


def test_partitions_count_on_their_own(client: Client) -> None:
    topic, producer_id = client.new_topic(2), client.new_producer_id()
    for partition in (0, 1):
        result = produce(client, topic, idempotent(producer_id, 0), partition=partition)
        assert (result.error_code, result.base_offset) == (0, 0)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_what_a_producer_sent_is_known_after_a_restart(
    own_broker: Callable[..., OttlaBroker], how: str
) -> None:
    broker = own_broker()
    with closing(Client(broker.bootstrap)) as client:
        producer = Producer(client, client.new_topic(), client.new_producer_id())
        for sequence in range(6):
            assert producer.send(sequence) == (0, sequence)
    getattr(broker, how)()
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        again = Producer(client, producer.topic, producer.id)
        assert [again.send(sequence) for sequence in range(1, 6)] == [(0, n) for n in range(1, 6)]
        assert again.send(7) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert again.send(6) == (0, 6)


def test_a_duplicate_waits_for_the_sync_of_its_first(client: Client) -> None:
    topic, producer_id = client.new_topic(flush_messages=1), client.new_producer_id()
    producer = Producer(client, topic, producer_id)
    assert [producer.send(0), producer.send(0), producer.send(1)] == [(0, 0), (0, 0), (0, 1)]
    assert fetch(client, topic).high_watermark == 2
