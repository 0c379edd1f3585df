"""DeleteRecords: the start of a partition moves up, and never down."""

import pytest

from ottla.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import NOW_MS, Client
from tests.unit.broker.handlers.test_list_offsets import EARLIEST, lookup


def delete(
    client: Client, topic: str, offset: int, version: int = 2
) -> DeleteRecordsPartitionResult:
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=10_000
    )
    [answered] = client.ask(request, version).topics
    [partition] = answered.partitions
    return partition


@pytest.mark.parametrize("version", range(3))
def test_records_below_an_offset_are_gone(client: Client, version: int) -> None:
    topic = client.new_topic()
    client.produce(topic, *[NOW_MS] * 5)
    result = delete(client, topic, 3, version)
    assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 3)
    assert lookup(client, topic, EARLIEST).offset == 3


def test_minus_one_deletes_everything(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic, *[NOW_MS] * 5)
    assert delete(client, topic, -1).low_watermark == 5
    assert lookup(client, topic, EARLIEST).offset == 5
    assert client.produce(topic) == 5


def test_what_is_deleted_already_stays_deleted(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic, *[NOW_MS] * 5)
    delete(client, topic, 4)
    result = delete(client, topic, 1)
    assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 4)


@pytest.mark.parametrize("offset", [6, -2])
def test_offsets_that_are_not_there_cannot_be_deleted(client: Client, offset: int) -> None:
    topic = client.new_topic()
    client.produce(topic, *[NOW_MS] * 5)
    result = delete(client, topic, offset)
    assert (result.error_code, result.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert lookup(client, topic, EARLIEST).offset == 0


def test_a_compacted_topic_keeps_its_records(client: Client) -> None:
    topic = client.new_topic(cleanup_policy="compact")
    client.produce(topic)
    assert delete(client, topic, 1).error_code == ErrorCode.POLICY_VIOLATION


def test_an_unknown_topic_is_told(client: Client) -> None:
    result = delete(client, "no-such-topic", 0)
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert result.low_watermark == -1
