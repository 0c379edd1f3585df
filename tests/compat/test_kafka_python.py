"""kafka-python, which speaks the newest versions and uses fetch sessions."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import MessageSizeTooLargeError, TopicAlreadyExistsError

from tests.support.clients import create_topic, unique_name

pytestmark = pytest.mark.compat

TIMEOUT_MS = 20_000


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def send_all(bootstrap: str, topic: str, values: list[bytes], **settings: Any) -> list[int]:
    with KafkaProducer(bootstrap_servers=bootstrap, **settings) as producer:
        futures = [producer.send(topic, value, partition=0) for value in values]
        return [future.get(20).offset for future in futures]


def reader(bootstrap: str, topic: str, offset: int = 0, **settings: Any) -> KafkaConsumer:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, **settings)
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek(TopicPartition(topic, 0), offset)
    return consumer


def read(consumer: KafkaConsumer, count: int) -> list:
    records: list = []
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while len(records) < count and time.monotonic() < deadline:
        for batch in consumer.poll(timeout_ms=200).values():
            records += batch
    return records


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back(bootstrap: str, topic: str, codec: str | None) -> None:
    values = [b"value %d" % n for n in range(500)]
    assert send_all(bootstrap, topic, values, compression_type=codec) == list(range(500))
    consumer = reader(bootstrap, topic)
    found = read(consumer, 500)
    consumer.close()
    assert [(record.offset, record.value) for record in found] == list(enumerate(values))


def test_a_fetch_session_follows_a_growing_log(bootstrap: str, topic: str) -> None:
    consumer = reader(bootstrap, topic)
    for round_number in range(5):
        value = b"round %d" % round_number
        send_all(bootstrap, topic, [value] * 3)
        assert [record.value for record in read(consumer, 3)] == [value] * 3
    consumer.close()


def test_a_fetch_session_of_many_partitions_sees_the_one_that_changes(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=50)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    partitions = [TopicPartition(topic, n) for n in range(50)]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for n in (0, 49, 7, 7, 23):
            producer.send(topic, b"to %d" % n, partition=n).get(20)
            [record] = read(consumer, 1)
            assert (record.partition, record.value) == (n, b"to %d" % n)
    consumer.close()


def test_keys_headers_and_timestamps_come_back(bootstrap: str, topic: str) -> None:
    stamp = int(time.time() * 1000) - 1000
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        producer.send(topic, None, b"k", [("h", b"1"), ("h", b"")], 0, stamp).get(20)
    consumer = reader(bootstrap, topic)
    [record] = read(consumer, 1)
    consumer.close()
    assert (record.key, record.value, record.timestamp) == (b"k", None, stamp)
    assert list(record.headers) == [("h", b"1"), ("h", b"")]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_all_acks_are_served(bootstrap: str, topic: str, acks: int | str) -> None:
    send_all(bootstrap, topic, [b"v"] * 50, acks=acks, enable_idempotence=False)
    consumer = reader(bootstrap, topic, isolation_level="read_committed")
    assert len(read(consumer, 50)) == 50
    consumer.close()


def test_ends_and_times_are_found(bootstrap: str, topic: str) -> None:
    send_all(bootstrap, topic, [b"v"] * 10)
    partition = TopicPartition(topic, 0)
    consumer = reader(bootstrap, topic)
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 10}
    assert consumer.offsets_for_times({partition: 0})[partition].offset == 0
    future_ms = int(time.time() * 1000) + 3_600_000
    assert consumer.offsets_for_times({partition: future_ms})[partition] is None
    assert topic in consumer.topics()
    assert consumer.partitions_for_topic(topic) == {0}
    consumer.close()


def test_a_record_that_is_too_large_is_refused(bootstrap: str) -> None:
    topic = create_topic(bootstrap, max_message_bytes=1000)
    with KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=False) as producer:
        with pytest.raises(MessageSizeTooLargeError):
            producer.send(topic, b"x" * 2000).get(20)
        producer.send(topic, b"x").get(20)


def test_topics_are_created_described_and_deleted(admin: KafkaAdminClient) -> None:
    name = unique_name("python")
    admin.create_topics([NewTopic(name, 2, 1)], wait_for_metadata=True)
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(name, 2, 1)])
    [found] = admin.describe_topics([name])
    assert len(found["partitions"]) == 2
    assert found["topic_id"]
    admin.delete_topics([name])


def test_the_cluster_describes_itself(bootstrap: str, admin: KafkaAdminClient) -> None:
    found = admin.describe_cluster()
    [broker] = found["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
    assert found["controller_id"] == broker["broker_id"]


def test_an_admin_learns_what_may_be_done_with_a_topic_before_it_is_there(
    admin: KafkaAdminClient,
) -> None:
    # kafka-python 2.3 fails on an answer without them, also where it deletes records of no topic.
    [missing] = admin.describe_topics([unique_name("not-there")])
    assert (missing["error_code"], missing["partitions"]) == (3, [])
    assert {"CREATE", "READ", "WRITE"} <= set(missing["authorized_operations"])
