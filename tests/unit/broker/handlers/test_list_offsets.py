"""ListOffsets: the ends of a partition, and offsets by time down to the record."""

import pytest

from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.compression import Codec
from tests.unit.broker.handlers.asking import NOW_MS, Client

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
NOT_FOUND = (-1, -1, -1)


def lookup(
    client: Client, topic: str, when: int, version: int = 11, **options: int
) -> ListOffsetsPartitionResponse:
    epoch = options.pop("current_leader_epoch", -1)
    wanted = ListOffsetsPartition(partition_index=0, timestamp=when, current_leader_epoch=epoch)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])], **options
    )
    [answered] = client.ask(request, version).topics
    [partition] = answered.partitions
    assert (answered.name, partition.partition_index) == (topic, 0)
    return partition


def found(partition: ListOffsetsPartitionResponse) -> tuple[int, int, int]:
    assert partition.error_code == ErrorCode.NONE
    return partition.offset, partition.timestamp, partition.leader_epoch


@pytest.mark.parametrize("version", range(1, 12))
def test_the_ends_of_a_partition_are_found_in_every_version(client: Client, version: int) -> None:
    topic = client.new_topic()
    client.produce(topic, *[NOW_MS] * 3)
    epoch = 0 if version >= 4 else -1
    assert found(lookup(client, topic, EARLIEST, version)) == (0, -1, epoch)
    assert found(lookup(client, topic, LATEST, version)) == (3, -1, epoch)
    assert found(lookup(client, topic, LATEST, version, isolation_level=1)) == (3, -1, epoch)


def test_an_empty_partition_has_ends_and_nothing_between(client: Client) -> None:
    topic = client.new_topic()
    assert lookup(client, topic, EARLIEST).offset == 0
    assert lookup(client, topic, LATEST).offset == 0
    assert found(lookup(client, topic, 0)) == NOT_FOUND
    assert found(lookup(client, topic, MAX_TIMESTAMP)) == NOT_FOUND


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_time_leads_to_the_first_record_not_older(client: Client, codec: int) -> None:
    topic = client.new_topic()
    client.produce(topic, NOW_MS, NOW_MS + 10, NOW_MS + 20, codec=codec)
    client.produce(topic, NOW_MS + 30, NOW_MS + 40, codec=codec)
    assert found(lookup(client, topic, 0)) == (0, NOW_MS, 0)
    assert found(lookup(client, topic, NOW_MS + 11)) == (2, NOW_MS + 20, 0)
    assert found(lookup(client, topic, NOW_MS + 20)) == (2, NOW_MS + 20, 0)
    assert found(lookup(client, topic, NOW_MS + 21)) == (3, NOW_MS + 30, 0)
    assert found(lookup(client, topic, NOW_MS + 41)) == NOT_FOUND


def test_times_out_of_order_lead_to_the_lowest_offset(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic, NOW_MS + 50, NOW_MS)
    client.produce(topic, NOW_MS + 10, NOW_MS + 60)
    assert found(lookup(client, topic, NOW_MS + 5)) == (0, NOW_MS + 50, 0)
    assert found(lookup(client, topic, NOW_MS + 55)) == (3, NOW_MS + 60, 0)


def test_the_record_with_the_largest_time_is_found(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic, NOW_MS, NOW_MS + 70, NOW_MS + 5)
    client.produce(topic, NOW_MS + 10)
    assert found(lookup(client, topic, MAX_TIMESTAMP)) == (1, NOW_MS + 70, 0)


def test_without_tiers_all_is_local(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic)
    assert found(lookup(client, topic, EARLIEST_LOCAL)) == (0, -1, 0)
    assert found(lookup(client, topic, LATEST_TIERED))[0] == -1
    assert found(lookup(client, topic, EARLIEST_PENDING_UPLOAD))[0] == -1


@pytest.mark.parametrize(
    ("when", "first_version"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING_UPLOAD, 11)],
)
def test_special_times_need_their_version(client: Client, when: int, first_version: int) -> None:
    topic = client.new_topic()
    refused = lookup(client, topic, when, first_version - 1)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert lookup(client, topic, when, first_version).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [1, 7, 11])
def test_a_time_before_1970_that_has_no_meaning_is_refused(client: Client, version: int) -> None:
    refused = lookup(client, client.new_topic(), -99, version)
    assert (refused.error_code, refused.offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)


def test_a_client_with_another_leader_epoch_is_told(client: Client) -> None:
    topic = client.new_topic()
    ahead = lookup(client, topic, LATEST, current_leader_epoch=7)
    assert ahead.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (ahead.offset, ahead.timestamp) == (-1, -1)
    assert lookup(client, topic, LATEST, current_leader_epoch=0).error_code == ErrorCode.NONE


def test_unknown_partitions_are_told_one_by_one(client: Client) -> None:
    topic = client.new_topic()
    wanted = [ListOffsetsPartition(partition_index=n, timestamp=LATEST) for n in (0, 1)]
    topics = [ListOffsetsTopic(name=name, partitions=wanted) for name in (topic, "no-such-topic")]
    answer = client.ask(ListOffsetsRequest(replica_id=-1, topics=topics))
    known = [
        (each.name, p.partition_index)
        for each in answer.topics
        for p in each.partitions
        if p.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    assert known == [(topic, 0)]


def test_a_partition_named_twice_is_refused(client: Client) -> None:
    topic = client.new_topic()
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=LATEST)] * 2
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=wanted)]
    )
    codes = {p.error_code for each in client.ask(request).topics for p in each.partitions}
    assert codes == {ErrorCode.INVALID_REQUEST}
