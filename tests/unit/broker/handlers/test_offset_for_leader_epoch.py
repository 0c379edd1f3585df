"""OffsetForLeaderEpoch: where the records of an epoch end."""

import pytest

from ottla.protocol.apis.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


def end_of(
    client: Client, topic: str, epoch: int, *, current: int = -1, version: int = 4
) -> EpochEndOffset:
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    )
    [answered] = client.ask(request, version).topics
    [partition] = answered.partitions
    return partition


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_current_epoch_ends_where_the_log_does(client: Client, version: int) -> None:
    topic = client.new_topic()
    client.produce(topic)
    client.produce(topic)
    found = end_of(client, topic, 0, version=version)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 2)


def test_an_epoch_to_come_is_unknown_and_no_error(client: Client) -> None:
    topic = client.new_topic()
    client.produce(topic)
    found = end_of(client, topic, 5)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, -1, -1)


def test_a_client_ahead_of_the_leader_is_told(client: Client) -> None:
    topic = client.new_topic()
    assert end_of(client, topic, 0, current=9).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_an_unknown_topic_is_told(client: Client) -> None:
    found = end_of(client, "no-such-topic", 0)
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (found.partition, found.leader_epoch, found.end_offset) == (0, -1, -1)
