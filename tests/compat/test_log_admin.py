"""What an administrator asks of logs: offsets, deletion of records, directories, producers."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from kafka import KafkaAdminClient
from kafka import TopicPartition as PythonPartition

from tests.support.clients import admin, consume, produce

pytestmark = pytest.mark.compat

NOW_MS = int(time.time() * 1000)


@pytest.fixture(scope="module")
def client(bootstrap: str) -> AdminClient:
    return admin(bootstrap)


@pytest.fixture(scope="module")
def python_client(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def list_offsets(client: AdminClient, topic: str, spec: OffsetSpec) -> tuple[int, int]:
    [future] = client.list_offsets({TopicPartition(topic, 0): spec}).values()
    found = future.result(20)
    return found.offset, found.timestamp


def test_offsets_are_listed_by_every_kind_of_question(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    assert list_offsets(client, topic, OffsetSpec.max_timestamp()) == (-1, -1)
    stamps = [NOW_MS + delta for delta in (10, 40, 20, 30)]
    produce(bootstrap, topic, [{"value": b"v", "timestamp": stamp} for stamp in stamps])
    assert list_offsets(client, topic, OffsetSpec.earliest())[0] == 0
    assert list_offsets(client, topic, OffsetSpec.latest())[0] == 4
    assert list_offsets(client, topic, OffsetSpec.max_timestamp()) == (1, NOW_MS + 40)
    assert list_offsets(client, topic, OffsetSpec.for_timestamp(NOW_MS + 15)) == (1, NOW_MS + 40)
    assert list_offsets(client, topic, OffsetSpec.for_timestamp(NOW_MS + 99)) == (-1, -1)


def delete_records(client: AdminClient, topic: str, offset: int) -> int:
    [future] = client.delete_records([TopicPartition(topic, 0, offset)]).values()
    return future.result(20).low_watermark


def test_records_before_an_offset_are_deleted(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(100)])
    assert delete_records(client, topic, 30) == 30
    assert list_offsets(client, topic, OffsetSpec.earliest())[0] == 30
    assert consume(bootstrap, topic, offset=30)[0].value() == b"30"
    found = consume(bootstrap, topic, offset=5, auto_offset_reset="earliest")
    assert [message.offset() for message in found] == list(range(30, 100))


def test_an_earlier_deletion_moves_nothing_back(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"v"] * 10)
    assert delete_records(client, topic, 7) == 7
    assert delete_records(client, topic, 3) == 7


def test_all_records_are_deleted_up_to_the_high_watermark(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"v"] * 10)
    assert delete_records(client, topic, -1) == 10
    [again] = produce(bootstrap, topic, [b"next"])
    assert again.offset() == 10


def test_records_that_do_not_exist_are_not_deleted(
    bootstrap: str, client: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"v"] * 10)
    with pytest.raises(KafkaException) as failure:
        delete_records(client, topic, 11)
    assert failure.value.args[0].code() == KafkaError.OFFSET_OUT_OF_RANGE


def test_log_directories_say_how_large_each_partition_is(
    bootstrap: str, python_client: KafkaAdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"x" * 10_000], compression_type="none")
    [broker] = python_client.describe_log_dirs({topic: [0]})
    [directory] = broker["log_dirs"]
    [[partition]] = [found["partitions"] for found in directory["topics"]]
    assert directory["error_code"] == 0
    assert directory["total_bytes"] >= directory["usable_bytes"] > 0
    assert 10_000 < partition["partition_size"] < 10_200
    assert (partition["offset_lag"], partition["is_future_key"]) == (0, False)


def test_active_producers_are_described(
    bootstrap: str, python_client: KafkaAdminClient, topic: str
) -> None:
    partition = PythonPartition(topic, 0)
    assert python_client.describe_producers([partition])[partition].active_producers == []
    produce(bootstrap, topic, [b"v"] * 7, enable_idempotence=True)
    [found] = python_client.describe_producers([partition])[partition].active_producers
    assert (found.producer_epoch, found.last_sequence) == (0, 6)
    assert found.producer_id >= 0
    assert abs(found.last_timestamp - time.time() * 1000) < 60_000
    assert found.current_transaction_start_offset == -1


def test_every_producer_has_an_id_of_its_own(
    bootstrap: str, python_client: KafkaAdminClient, topic: str
) -> None:
    for _ in range(3):
        produce(bootstrap, topic, [b"v"], enable_idempotence=True)
    partition = PythonPartition(topic, 0)
    found = python_client.describe_producers([partition])[partition].active_producers
    assert len({producer.producer_id for producer in found}) == 3


def test_topic_partitions_are_described_page_by_page(
    python_client: KafkaAdminClient, topic: str
) -> None:
    [found] = python_client.describe_topic_partitions([topic])["topics"]
    assert (found["error_code"], found["name"]) == (0, topic)
    [partition] = found["partitions"]
    assert partition["replica_nodes"] == partition["isr_nodes"] == [partition["leader_id"]]


def test_resources_with_settings_are_listed(python_client: KafkaAdminClient, topic: str) -> None:
    found = python_client.list_config_resources()
    assert topic in found["topic"]
    assert len(found["broker"]) == 1
