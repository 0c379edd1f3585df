"""The clients that load a coordinator do their work against a broker."""

import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition

from benchmarks.clients import commits, encoded_transactions, group, transactions
from benchmarks.clients.connection import BrokerRefused
from benchmarks.clients.encoded_transactions import FirstVersion, SecondVersion
from benchmarks.payloads import sample_values
from benchmarks.topics import temporary_topic, wait_for_records
from ottla.protocol.errors import ErrorCode


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_come_together(bootstrap: str, protocol: str) -> None:
    with temporary_topic(bootstrap, 6) as topic:
        result = group.main(
            {
                "bootstrap": bootstrap,
                "topic": topic,
                "partitions": 6,
                "members": 3,
                "protocol": protocol,
                "group": f"{topic}-{protocol}",
            }
        )
    assert 0 < result["seconds"] < group.STABLE_WITHIN_SECONDS


def test_offsets_are_committed(bootstrap: str) -> None:
    with temporary_topic(bootstrap) as topic:
        spec = {"bootstrap": bootstrap, "topic": topic, "connections": 2, "seconds": 0.1}
        assert commits.main(spec)["commits"] > 0


def test_transactions_are_committed(bootstrap: str) -> None:
    with temporary_topic(bootstrap) as topic:
        spec = {"bootstrap": bootstrap, "topic": topic, "records": 3, "value_size": 10}
        assert transactions.main({**spec, "seconds": 0.1})["transactions"] > 0


@pytest.mark.parametrize("version", [1, 2])
def test_transactions_encoded_beforehand_leave_a_record_and_a_marker_each(
    bootstrap: str, version: int
) -> None:
    with temporary_topic(bootstrap) as topic:
        spec = {"bootstrap": bootstrap, "topic": topic, "version": version, "value_size": 10}
        result = encoded_transactions.main({**spec, "seconds": 0.1})

        assert result["transactions"] > 0
        wait_for_records(bootstrap, topic, 2 * int(result["acknowledged"]))


@pytest.mark.parametrize("make", [FirstVersion, SecondVersion])
def test_what_was_encoded_beforehand_is_read_by_consumers(
    bootstrap: str, make: type[FirstVersion | SecondVersion]
) -> None:
    with temporary_topic(bootstrap) as topic:
        producer = make(bootstrap, topic, 10)
        for _ in range(3):
            producer.commit_one()
        producer.close()
        with closing(_reader(bootstrap)) as consumer:
            consumer.assign([TopicPartition(topic, 0, 0)])
            read = consumer.consume(3, timeout=30)

    assert [message.value() for message in read] == sample_values(1, 10) * 3


def test_a_producer_that_comes_too_early_comes_again() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(struct.pack(">h", ErrorCode.CONCURRENT_TRANSACTIONS))
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(encoded_transactions.exchange, here, b"request", 0)
            assert there.recv(len(b"request"), socket.MSG_WAITALL) == b"request"
            assert there.recv(len(b"request"), socket.MSG_WAITALL) == b"request"
            there.sendall(b"\0\0 well")
            assert answer.result(30) == b"\0\0 well"


def test_any_other_error_ends_the_run() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(struct.pack(">h", ErrorCode.PRODUCER_FENCED))
        with pytest.raises(BrokerRefused, match="PRODUCER_FENCED"):
            encoded_transactions.exchange(here, b"request", 0)


def _reader(bootstrap: str) -> Consumer:
    return Consumer({"bootstrap.servers": bootstrap, "group.id": "reads"})
