"""Transactions over the wire, in the words of old clients and of new ones."""

import uuid
from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import fetch, values
from tests.unit.broker.handlers.transacting import Transactor, committed

FENCED = ErrorCode.PRODUCER_FENCED
WRONG = ErrorCode.INVALID_TXN_STATE
OLD = {"produce": 9, "end": 3}
NEW = {"produce": 12, "end": 5}


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["v1", "v2"])
def test_committed_records_are_read_and_aborted_ones_are_not(
    client: Client, versions: dict[str, int]
) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **versions)
    for number, outcome in enumerate([True, False, True]):
        if versions is OLD:
            assert producer.add(topic) == {0}
        assert producer.send(topic, b"%d" % number) == 0
        assert b"%d" % number not in committed(client, topic)
        producer.finish(outcome)
    assert committed(client, topic) == [b"0", b"2"]
    assert values(fetch(client, topic).records)[::2] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("version", range(3))
def test_readers_stop_at_the_first_open_transaction(client: Client, version: int) -> None:
    topic = client.new_topic()
    slow, quick = Transactor(client, **NEW), Transactor(client, **NEW)
    slow.send(topic, b"slow")
    quick.send(topic, b"quick")
    quick.finish(True)
    found = fetch(client, topic, isolation_level=1, max_wait_ms=0)
    assert (found.last_stable_offset, found.high_watermark) == (0, 3)
    assert (latest(client, topic, 1), latest(client, topic, 0)) == (0, 3)
    assert committed(client, topic) == []
    slow.finish(version == 0)
    assert committed(client, topic) == ([b"slow"] if version == 0 else []) + [b"quick"]
    assert latest(client, topic, 1) == 4


def latest(client: Client, topic: str, isolation_level: int) -> int:
    asked = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=asked)],
    )
    return int(client.ask(request, 7).topics[0].partitions[0].offset)


def test_a_long_poll_of_a_careful_reader_ends_with_the_transaction(
    client: Client, bootstrap: str
) -> None:
    from threading import Thread

    topic = client.new_topic()
    producer = Transactor(client, **NEW)
    producer.send(topic, b"v")
    with closing(Client(bootstrap)) as reader:
        found = []
        options = {"isolation_level": 1, "max_wait_ms": 15_000}
        waiting = Thread(target=lambda: found.append(fetch(reader, topic, **options)))
        waiting.start()
        producer.finish(True)
        waiting.join(10)
        assert values(found[0].records)[:1] == [b"v"]


def test_a_transaction_spans_partitions(client: Client) -> None:
    topic = client.new_topic(partitions=3)
    producer = Transactor(client, **NEW)
    for partition in range(3):
        producer.send(topic, b"a%d" % partition, partition=partition)
    producer.finish(True)
    assert [committed(client, topic, n) for n in range(3)] == [[b"a0"], [b"a1"], [b"a2"]]


def test_a_record_that_is_delayed_past_its_transaction_is_refused(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **NEW)
    producer.send(topic, b"in time")
    late = {"epoch": producer.epoch, "sequence": 1}
    producer.finish(True)
    assert producer.send(topic, b"late", **late) == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.send(topic, b"next")
    assert producer.send(topic, b"late", **late) == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.finish(True)
    assert committed(client, topic) == [b"in time", b"next"]


def test_a_new_producer_fences_the_old_one(client: Client) -> None:
    topic = client.new_topic()
    old = Transactor(client, **NEW)
    old.send(topic, b"old")
    new = Transactor(client, old.id, **NEW)
    assert new.producer_id == old.producer_id
    assert new.epoch > old.epoch
    assert old.send(topic, b"zombie") == ErrorCode.INVALID_PRODUCER_EPOCH
    assert old.add(topic) == {FENCED}
    assert old.add(topic, version=1) == {ErrorCode.INVALID_PRODUCER_EPOCH}
    for outcome in (True, False):
        assert old.end(outcome).error_code == FENCED
        assert old.end(outcome, 2).error_code == FENCED
        assert old.end(outcome, 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    new.send(topic, b"new")
    new.finish(True)
    assert committed(client, topic) == [b"new"]


def test_a_partition_must_be_added_first_by_an_old_client(client: Client) -> None:
    topic = client.new_topic(partitions=2)
    producer = Transactor(client, **OLD)
    assert producer.send(topic) == WRONG
    assert producer.add(topic, 0) == {0}
    assert producer.send(topic) == 0
    assert producer.send(topic, partition=1) == WRONG
    assert producer.send(topic, partition=1, version=11) == ErrorCode.TRANSACTION_ABORTABLE
    producer.finish(True)
    assert producer.send(topic, sequence=1) == WRONG


def test_a_partition_joins_the_transaction_although_its_records_are_refused(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client)
    assert producer.send(topic, b"torn", damaged=True) == ErrorCode.CORRUPT_MESSAGE
    assert producer.describe().transaction_state == "Ongoing"
    assert producer.send(topic, b"whole") == 0
    producer.finish(committed=True)
    assert committed(client, topic) == [b"whole"]


def test_transactional_records_need_a_transactional_id(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **NEW)
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert producer.send(topic, transactional_id=None, version=9) == denied
    assert producer.send(topic, transactional_id=None) == denied
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.send(topic, transactional_id=f"no-{uuid.uuid4()}", version=9) == mapping
    assert producer.send(topic, producer_id=2**40, version=9) == mapping


def test_transactions_wait_for_the_disk_where_every_record_must(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker({"log.flush.interval.messages": "1"})
    with closing(Client(broker.bootstrap)) as client:
        topic = client.new_topic(partitions=2)
        producer = Transactor(client, **NEW)
        for number, outcome in enumerate([True, False, True]):
            for partition in range(2):
                assert producer.send(topic, b"%d" % number, partition=partition) == 0
            producer.finish(outcome)
        assert committed(client, topic) == committed(client, topic, 1) == [b"0", b"2"]
        open_one = Transactor(client, **NEW)
        open_one.send(topic, b"open")
        broker.kill()
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        assert Transactor(client, open_one.id).epoch > open_one.epoch
        assert committed(client, topic) == [b"0", b"2"]


def test_a_topic_that_goes_takes_its_part_of_the_transaction_along(client: Client) -> None:
    topic, gone = client.new_topic(), client.new_topic()
    producer = Transactor(client, **NEW)
    producer.send(topic, b"stays")
    producer.send(gone, b"goes")
    states = [DeleteTopicState(name=gone)]
    assert (
        client.ask(DeleteTopicsRequest(topics=states, timeout_ms=10_000)).responses[0].error_code
        == 0
    )
    producer.finish(True)
    assert committed(client, topic) == [b"stays"]
