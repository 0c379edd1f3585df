"""Topics go, or go and come again, while a broker is away: what it still holds of them never comes back to life."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as KafkaPartition

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.topics import NewTopic
from ottla.client.sync_admin import SyncAdmin
from ottla.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consume, consumer, produce, unique_name
from tests.support.cluster import Cluster
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client

pytestmark = [pytest.mark.compat, pytest.mark.java]

OLD = [b"old-%d" % number for number in range(50)]
NEW = [b"new-%d" % number for number in range(5)]
# While a broker hangs it stays registered, so that topics can be made that have a replica there.
SETTINGS = {"zookeeper_session_timeout_ms": "20000", "log_segment_delete_delay_ms": "0"}


def make_topic(bootstrap: str, name: str, replicas: list[int]) -> None:
    with SyncAdmin({"bootstrap.servers": bootstrap}) as client:
        [made] = client.create_topics([NewTopic(name, assignments={0: replicas})]).values()
        assert not isinstance(made, ApiError), made


def filled_topic(cluster: Cluster) -> str:
    """A topic with records that every broker holds; broker 3 leads it."""
    name = unique_name("gone")
    make_topic(cluster.bootstrap, name, [3, 1, 2])
    produce(cluster.bootstrap, name, OLD, acks="all")
    return name


def without_broker_3(cluster: Cluster, gone: str, again: str) -> None:
    """Two topics are deleted, and one of them is made again."""
    bootstrap = ",".join(cluster.brokers[number].bootstrap for number in (1, 2))
    with SyncAdmin({"bootstrap.servers": bootstrap}) as client:
        assert not any(client.delete_topics([gone, again]).values())
    make_topic(bootstrap, again, [1, 2, 3])


def directories(broker: OttlaBroker, topic: str) -> list[Path]:
    return sorted(broker.data_dir.glob(f"{topic}-0*"))


def check_that_only_the_new_is_there(cluster: Cluster, topic: str) -> None:
    """Broker 3 follows the new topic, and when it leads, nothing of the old one is there."""
    produce(cluster.bootstrap, topic, NEW, acks="all")
    cluster.wait_until_in_sync(topic)
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as client:
        tp = TopicPartition(topic, 0)
        client.alter_partition_reassignments({tp: [3, 1, 2]})
        wait_for(lambda: not client.list_partition_reassignments(), "the reassignment")
        client.elect_leaders(partitions=[tp])
    wait_for(lambda: cluster.leader(topic) == 3, "broker 3 to lead")

    def records() -> list[bytes | None]:
        return [message.value() for message in consume(cluster.bootstrap, topic, 0)]

    # A new leader shows what it holds once the others have told it that they hold it too.
    assert wait_for(records, "the records to be committed") == NEW


def test_topics_that_went_before_a_broker_came_back(cluster: Cluster) -> None:
    gone, again = filled_topic(cluster), filled_topic(cluster)
    broker = cluster.brokers[3]
    [log] = (broker.data_dir / f"{gone}-0").glob("*.log")
    held = log.read_bytes()
    os.kill(broker.pid, signal.SIGSTOP)
    without_broker_3(cluster, gone, again)
    broker.kill()
    broker.start()
    check_that_only_the_new_is_there(cluster, again)
    for _ in range(2):
        [stray] = directories(broker, gone)
        assert stray.name.endswith("-stray")
        assert (stray / log.name).read_bytes() == held
        assert [path.suffix.endswith("-stray") for path in directories(broker, again)] == [
            False,
            True,
        ]
        broker.restart()
    assert gone not in admin(cluster.bootstrap).list_topics(timeout=10).topics


def test_topics_that_went_while_a_broker_hung(cluster: Cluster) -> None:
    gone, again = filled_topic(cluster), filled_topic(cluster)
    broker = cluster.brokers[3]
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        without_broker_3(cluster, gone, again)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    check_that_only_the_new_is_there(cluster, again)
    wait_for(lambda: directories(broker, gone) == [], "what was deleted to be removed")
    wait_for(lambda: len(directories(broker, again)) == 1, "what was replaced to be removed")


def delete_records(leader: OttlaBroker, topic: str, offset: int, timeout_ms: int) -> int:
    """What the leader answers."""
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=timeout_ms
    )
    with closing(Client(leader.bootstrap)) as client:
        return int(client.ask(request).topics[0].partitions[0].error_code)


def test_deleted_records_are_gone_from_every_replica_in_sync(cluster: Cluster) -> None:
    topic = filled_topic(cluster)
    follower = cluster.brokers[1]
    os.kill(follower.pid, signal.SIGSTOP)
    try:
        # It does not know yet, and would lead with all of them if its leader died now.
        answer = delete_records(cluster.brokers[3], topic, 20, timeout_ms=300)
        assert answer == ErrorCode.REQUEST_TIMED_OUT
    finally:
        os.kill(follower.pid, signal.SIGCONT)
    assert delete_records(cluster.brokers[3], topic, 30, timeout_ms=20_000) == 0
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as client:
        tp = TopicPartition(topic, 0)
        client.alter_partition_reassignments({tp: [1, 2, 3]})
        wait_for(lambda: not client.list_partition_reassignments(), "the reassignment")
        client.elect_leaders(partitions=[tp])
    wait_for(lambda: cluster.leader(topic) == 1, "broker 1 to lead")
    reader = consumer(cluster.bootstrap)
    try:
        assert reader.get_watermark_offsets(KafkaPartition(topic, 0), timeout=20) == (30, len(OLD))
    finally:
        reader.close()
