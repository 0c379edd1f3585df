"""AlterReplicaLogDirs: a replica moves to another directory of its broker, and nobody notices."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ottla.protocol.apis.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.apis.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client


def moved(client: Client, path: str, topic: str, *partitions: int, version: int = 2) -> list[int]:
    """Ask for a move; the errors of the partitions."""
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
    [result] = client.ask(request, version).results
    assert result.topic_name == topic
    assert [each.partition_index for each in result.partitions] == [*partitions]
    return [each.error_code for each in result.partitions]


def directories(client: Client, topic: str) -> dict[tuple[int, bool], str]:
    """Where each replica of a topic is; those on their way are marked."""
    return {
        (partition.partition_index, partition.is_future_key): directory.log_dir
        for directory in client.ask(DescribeLogDirsRequest(topics=None)).results
        for each in directory.topics
        if each.name == topic
        for partition in each.partitions
    }


@pytest.fixture
def two_dirs(own_broker: Callable[..., OttlaBroker], tmp_path: Path) -> Iterator[Client]:
    broker = own_broker({"log.dirs": f"{tmp_path}/one,{tmp_path}/two"})
    with closing(Client(broker.bootstrap)) as connection:
        yield connection


@pytest.mark.parametrize("version", [1, 2])
def test_a_replica_moves_with_its_records(two_dirs: Client, tmp_path: Path, version: int) -> None:
    topic = two_dirs.new_topic(partitions=2)
    first = directories(two_dirs, topic)[0, False]
    [other] = {f"{tmp_path}/one", f"{tmp_path}/two"} - {first}
    assert [two_dirs.produce(topic) for _ in range(3)] == [0, 1, 2]
    assert moved(two_dirs, other, topic, 0, version=version) == [ErrorCode.NONE]
    wait_for(lambda: directories(two_dirs, topic).get((0, False)) == other, "the replica there")
    assert two_dirs.produce(topic) == 3
    assert set(directories(two_dirs, topic)) == {(0, False), (1, False)}


def test_what_cannot_be_moved(client: Client) -> None:
    topic = client.new_topic()
    here = directories(client, topic)[0, False]
    assert moved(client, here, topic, 0) == [ErrorCode.NONE]
    assert moved(client, "/no/such/directory", topic, 0) == [ErrorCode.LOG_DIR_NOT_FOUND]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert moved(client, here, topic, 0, 9) == [ErrorCode.NONE, unknown]
    assert moved(client, here, "no-such-topic", 0) == [unknown]
