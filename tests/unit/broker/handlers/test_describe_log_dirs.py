"""DescribeLogDirs: where partitions lie and how much room there is."""

import pytest

from ottla.protocol.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in result.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_partitions_are_listed_with_their_sizes(client: Client, version: int) -> None:
    topic = client.new_topic(partitions=2)
    client.produce(topic, partition=1)
    [result] = client.ask(DescribeLogDirsRequest(topics=None), version).results
    assert (result.error_code, result.log_dir[0]) == (ErrorCode.NONE, "/")
    found = sizes(result)
    assert found[topic, 0] == 0
    assert found[topic, 1] > 61
    for each in result.topics:
        assert all(p.offset_lag == 0 and not p.is_future_key for p in each.partitions)
    room = 0 < result.usable_bytes < result.total_bytes
    assert room if version >= 4 else (result.usable_bytes, result.total_bytes) == (-1, -1)


def test_only_what_was_asked_for_is_listed(client: Client) -> None:
    topic = client.new_topic(partitions=3)
    wanted = DescribableLogDirTopic(topic=topic, partitions=[0, 2, 9])
    unknown = DescribableLogDirTopic(topic="no-such-topic", partitions=[0])
    [result] = client.ask(DescribeLogDirsRequest(topics=[wanted, unknown])).results
    assert sizes(result).keys() == {(topic, 0), (topic, 2)}


def test_a_directory_is_listed_even_if_nothing_in_it_was_asked_for(client: Client) -> None:
    [result] = client.ask(DescribeLogDirsRequest(topics=[])).results
    assert (result.error_code, result.topics) == (ErrorCode.NONE, [])
