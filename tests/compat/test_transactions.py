"""Transactional producers of librdkafka: what counts, what does not, and who is shut out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.support.broker import OttlaBroker
from tests.support.clients import (
    consume,
    consumer,
    create_topic,
    produce,
    producer,
    read_to_end,
    unique_name,
)
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

TIMEOUT_S = 30.0
COMMITTED = {"isolation_level": "read_committed"}
UNCOMMITTED = {"isolation_level": "read_uncommitted"}


def transactional(bootstrap: str, transactional_id: str = "", **settings: object) -> Producer:
    """A producer that is ready to begin."""
    name = transactional_id or unique_name("tx")
    client = producer(bootstrap, transactional_id=name, **settings)
    client.init_transactions(TIMEOUT_S)
    return client


def values(bootstrap: str, topic: str, partition: int = 0, **settings: object) -> list[bytes]:
    return [message.value() for message in consume(bootstrap, topic, partition, **settings)]


def write(client: Producer, topic: str, *payload: bytes, partition: int = 0) -> None:
    """Write, and wait until the broker has it."""
    for value in payload:
        client.produce(topic, value, partition=partition)
    assert client.flush(TIMEOUT_S) == 0


def test_aborted_records_are_there_but_do_not_count(bootstrap: str, topic: str) -> None:
    client = transactional(bootstrap)
    for number in range(6):
        client.begin_transaction()
        write(client, topic, b"%d" % number)
        (client.abort_transaction if number % 3 == 1 else client.commit_transaction)(TIMEOUT_S)
    assert values(bootstrap, topic, **COMMITTED) == [b"0", b"2", b"3", b"5"]
    assert values(bootstrap, topic, **UNCOMMITTED) == [b"%d" % n for n in range(6)]


def test_a_transaction_counts_everywhere_or_nowhere(bootstrap: str) -> None:
    topics = [create_topic(bootstrap, partitions=3) for _ in range(2)]
    client = transactional(bootstrap)
    for outcome in (client.commit_transaction, client.abort_transaction):
        client.begin_transaction()
        for topic in topics:
            for partition in range(3):
                write(client, topic, outcome.__name__.encode(), partition=partition)
        outcome(TIMEOUT_S)
    found = [values(bootstrap, topic, n, **COMMITTED) for topic in topics for n in range(3)]
    assert found == [[b"commit_transaction"]] * 6


def test_interleaved_producers_do_not_disturb_each_other(bootstrap: str, topic: str) -> None:
    clients = [transactional(bootstrap) for _ in range(4)]
    for client in clients:
        client.begin_transaction()
    for number in range(5):
        for index, client in enumerate(clients):
            write(client, topic, b"%d-%d" % (index, number))
    for index, client in enumerate(clients):
        (client.commit_transaction if index % 2 else client.abort_transaction)(TIMEOUT_S)
    produce(bootstrap, topic, [b"plain"])
    expected = [b"%d-%d" % (index, n) for n in range(5) for index in (1, 3)]
    assert values(bootstrap, topic, **COMMITTED) == [*expected, b"plain"]


def test_a_careful_reader_waits_for_the_end(bootstrap: str, topic: str) -> None:
    client = transactional(bootstrap)
    client.begin_transaction()
    write(client, topic, b"open")
    produce(bootstrap, topic, [b"plain"])
    reader = consumer(bootstrap, **COMMITTED)
    reader.assign([TopicPartition(topic, 0, 0)])
    assert read_to_end(reader) == []
    client.commit_transaction(TIMEOUT_S)
    found: list[bytes] = []

    def both() -> bool:
        message = reader.poll(1.0)
        if message is not None and message.error() is None:
            found.append(message.value())
        return len(found) == 2

    wait_for(both, "both records", TIMEOUT_S)
    assert found == [b"open", b"plain"]
    reader.close()


def test_of_two_producers_with_one_id_the_later_wins(bootstrap: str, topic: str) -> None:
    name = unique_name("tx")
    old = transactional(bootstrap, name)
    old.begin_transaction()
    write(old, topic, b"old")
    new = transactional(bootstrap, name)
    with pytest.raises(KafkaException) as fenced:
        old.commit_transaction(TIMEOUT_S)
    assert fenced.value.args[0].code() == KafkaError._FENCED
    assert fenced.value.args[0].fatal()
    new.begin_transaction()
    write(new, topic, b"new")
    new.commit_transaction(TIMEOUT_S)
    assert values(bootstrap, topic, **COMMITTED) == [b"new"]


def test_a_transaction_that_takes_too_long_is_aborted(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    check_often = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    bootstrap = own_broker({check_often: "100"}).bootstrap
    topic = create_topic(bootstrap)
    client = transactional(bootstrap, transaction_timeout_ms=1_000)
    client.begin_transaction()
    write(client, topic, b"slow")
    produce(bootstrap, topic, [b"plain"])
    wait_for(lambda: values(bootstrap, topic, **COMMITTED) == [b"plain"], "the time-out", TIMEOUT_S)
    with pytest.raises(KafkaException) as fenced:
        client.commit_transaction(TIMEOUT_S)
    assert fenced.value.args[0].code() == KafkaError._FENCED


@pytest.fixture
def source(bootstrap: str) -> str:
    """A topic of 400 numbered records in two partitions."""
    topic = create_topic(bootstrap, partitions=2)
    records = [{"value": b"%d" % n, "partition": n % 2} for n in range(400)]
    produce(bootstrap, topic, records)
    return topic


def batches(reader: Consumer) -> Iterator[list[bytes]]:
    """Up to 20 records at a time, until nothing comes any more."""
    while found := reader.consume(20, 3.0):
        yield [message.value() for message in found if message.error() is None]


def test_read_process_write_is_exactly_once_in_spite_of_aborts(bootstrap: str, source: str) -> None:
    target = create_topic(bootstrap, partitions=1)
    group = unique_name("copy")
    settings = {"group_id": group, "auto_offset_reset": "earliest", "enable_partition_eof": False}
    chance = random.Random(17)
    for worker in range(3):
        reader = consumer(bootstrap, **settings, **COMMITTED)
        reader.subscribe([source])
        client = transactional(bootstrap, f"{group}-worker")
        for number, payload in enumerate(batches(reader)):
            client.begin_transaction()
            write(client, target, *payload)
            positions = reader.position(reader.assignment())
            client.send_offsets_to_transaction(
                positions, reader.consumer_group_metadata(), TIMEOUT_S
            )
            if chance.random() < 0.3 or (worker < 2 and number == 3):
                client.abort_transaction(TIMEOUT_S)
                break
            client.commit_transaction(TIMEOUT_S)
        reader.close()
    found = [int(value) for value in values(bootstrap, target, **COMMITTED)]
    assert len(found) == len(set(found))
    left = rest(bootstrap, settings, source)
    assert sorted(found + left) == list(range(400))
    for parity in (0, 1):
        ours = [n for n in found if n % 2 == parity]
        assert ours == sorted(ours)


def rest(bootstrap: str, settings: dict[str, object], source: str) -> list[int]:
    """What the group has not committed: where the workers left off."""
    reader = consumer(bootstrap, **settings, **COMMITTED)
    reader.subscribe([source])
    left = [int(value) for payload in batches(reader) for value in payload]
    reader.close()
    return left
