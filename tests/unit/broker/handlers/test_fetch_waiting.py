"""Fetch as it waits: woken by what it waits for, and by nothing else."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import (
    LONG_MS,
    batch,
    by_partition,
    fetch,
    fetch_request,
    produce,
    produce_request,
    receive,
    send,
    topic_id,
    values,
)


@contextmanager
def taking(at_least_s: float, at_most_s: float) -> Iterator[None]:
    """What happens inside takes that long."""
    began = time.monotonic()
    yield
    assert at_least_s <= time.monotonic() - began <= at_most_s


@pytest.fixture
def other(bootstrap: str) -> Iterator[Client]:
    """A second client."""
    with closing(Client(bootstrap)) as connection:
        yield connection


def delete_topic(client: Client, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=10_000)
    [result] = client.ask(request).responses
    assert result.error_code == 0


@pytest.mark.parametrize("version", [4, 12])
def test_a_record_wakes_a_waiting_fetch_at_once(
    client: Client, other: Client, version: int
) -> None:
    topic = client.new_topic()
    request = fetch_request({topic: {0: 0}}, max_wait_ms=LONG_MS)
    with taking(0, 5):
        send(client, (request, version))
        produce(other, topic, batch(b"wake up"))
        [answered] = receive(client, request, version, 0).responses
    assert values(answered.partitions[0].records) == [b"wake up"]


def test_a_sync_wakes_a_waiting_fetch(client: Client, other: Client) -> None:
    topic = client.new_topic(flush_messages=1)
    request = fetch_request({topic: {0: 0}}, max_wait_ms=LONG_MS)
    with taking(0, 5):
        send(client, (request, 12))
        produce(other, topic, batch(b"synced"), acks=1)
        [answered] = receive(client, request, 12, 0).responses
    assert values(answered.partitions[0].records) == [b"synced"]


def test_without_records_the_answer_comes_when_patience_ends(client: Client) -> None:
    topic = client.new_topic()
    with taking(0.25, 5):
        found = fetch(client, topic, max_wait_ms=300)
    assert (found.error_code, found.high_watermark, found.records or b"") == (0, 0, b"")
    with taking(0, 0.25):
        fetch(client, topic, max_wait_ms=0)


def test_less_than_asked_for_is_waited_over(client: Client, other: Client) -> None:
    topic = client.new_topic()
    produce(other, topic, batch(b"a"))
    with taking(0.25, 5):
        found = fetch(client, topic, min_bytes=1000, max_wait_ms=300)
    assert values(found.records) == [b"a"]
    request = fetch_request({topic: {0: 0}}, min_bytes=1000, max_wait_ms=LONG_MS)
    with taking(0, 5):
        send(client, (request, 12))
        produce(other, topic, batch(b"b"))
        produce(other, topic, batch(b"c" * 1000))
        [answered] = receive(client, request, 12, 0).responses
    assert values(answered.partitions[0].records) == [b"a", b"b", b"c" * 1000]


def test_bytes_of_several_partitions_count_together(client: Client, other: Client) -> None:
    topic = client.new_topic(2)
    produce(other, topic, batch(b"a" * 600), partition=0)
    request = fetch_request({topic: {0: 0, 1: 0}}, min_bytes=1000, max_wait_ms=LONG_MS)
    with taking(0, 5):
        send(client, (request, 12))
        produce(other, topic, batch(b"b" * 600), partition=1)
        found = by_partition(receive(client, request, 12, 0).responses)
    assert [len(values(found[n].records)) for n in (0, 1)] == [1, 1]


def test_nobody_waits_for_more_than_may_be_sent(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a" * 2000))
    with taking(0, 5):
        found = fetch(client, topic, min_bytes=10**6, max_bytes=1000, max_wait_ms=LONG_MS)
    assert values(found.records) == [b"a" * 2000]


def test_a_partition_that_does_not_exist_keeps_nobody_from_waiting(client: Client) -> None:
    topic = client.new_topic()
    request = fetch_request({topic: {0: 0, 9: 0}, "no-such-topic": {0: 0}}, max_wait_ms=300)
    with taking(0.25, 5):
        answer = client.ask(request, 12)
    codes = [part.error_code for found in answer.responses for part in found.partitions]
    assert sorted(codes) == [0, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2]


@pytest.mark.parametrize("by_id", [False, True])
def test_a_topic_deleted_under_a_waiting_fetch_is_told_at_once(
    client: Client, other: Client, by_id: bool
) -> None:
    name, version = client.new_topic(), 13 if by_id else 12
    topic = topic_id(client, name) if by_id else name
    request = fetch_request({topic: {0: 0}}, max_wait_ms=LONG_MS)
    with taking(0, 10):
        send(client, (request, version))
        delete_topic(other, name)
        [answered] = receive(client, request, version, 0).responses
    code = answered.partitions[0].error_code
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # Kafka's replica manager notices first, and speaks of the partition.
    assert code in (unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_a_produce_behind_a_fetch_on_one_connection_wakes_it(
    client: Client, ottla_only: None
) -> None:
    topic = client.new_topic()
    read = fetch_request({topic: {0: 0}}, max_wait_ms=LONG_MS)
    write = produce_request({topic: {0: batch(b"from behind")}})
    with taking(0, 5):
        send(client, (read, 12), (write, 9))
        [answered] = receive(client, read, 12, 0).responses
        assert receive(client, write, 9, 1).responses[0].partition_responses[0].error_code == 0
    assert values(answered.partitions[0].records) == [b"from behind"]


def test_fetches_behind_each_other_are_answered_in_order(client: Client, other: Client) -> None:
    topic = client.new_topic()
    requests = [fetch_request({topic: {0: n}}, max_wait_ms=1000) for n in range(6)]
    for n in range(6):
        produce(other, topic, batch(b"%d" % n))
    waiting = fetch_request({topic: {0: 6}}, max_wait_ms=200)
    send(client, (waiting, 12), *[(request, 12) for request in requests])
    assert not receive(client, waiting, 12, 0).responses[0].partitions[0].records
    for n, request in enumerate(requests):
        [answered] = receive(client, request, 12, n + 1).responses
        assert values(answered.partitions[0].records)[0] == b"%d" % n


def test_a_client_that_leaves_while_it_waits_is_missed_by_nobody(
    bootstrap: str, other: Client
) -> None:
    topic = other.new_topic()
    for _ in range(5):
        with closing(Client(bootstrap)) as leaving:
            send(leaving, (fetch_request({topic: {0: 0}}, max_wait_ms=LONG_MS), 12))
    assert produce(other, topic, batch(b"still here")).base_offset == 0
    assert values(fetch(other, topic).records) == [b"still here"]
