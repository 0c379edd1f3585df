"""Partitions move between brokers under load, grow and shrink in replicas, and go back to their preferred leaders."""

import pytest

from ottla.base.ids import TopicPartition
from ottla.client.sync_admin import SyncAdmin
from ottla.protocol.errors import ErrorCode
from tests.cluster.load import Load
from tests.support.clients import create_topic
from tests.support.cluster import Cluster, MakeCluster
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.java]


def replicas(cluster: Cluster, topic: str) -> list[list[int]]:
    return [each.replicas for _, each in sorted(cluster.partitions(topic).items())]


def move(cluster: Cluster, topic: str, *targets: list[int]) -> None:
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as admin:
        wanted = {TopicPartition(topic, number): ids for number, ids in enumerate(targets)}
        answers = admin.alter_partition_reassignments(wanted)
        assert not any(answers.values()), answers


def wait_until_moved(cluster: Cluster, topic: str, *targets: list[int]) -> None:
    wait_for(lambda: replicas(cluster, topic) == list(targets), f"the reassignment of {topic}", 20)


def test_partitions_move_under_load(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, partitions=2, replicas=2, min_insync_replicas=1)
    load = Load(cluster.bootstrap, topic)
    load.run(0.5)
    for targets in ([[3, 1], [1, 2]], [[2, 3], [3, 1]], [[1, 2, 3], [1]]):
        move(cluster, topic, *targets)
        load.run(0.5)
        wait_until_moved(cluster, topic, *targets)
    load.finish()
    load.check(cluster)


def test_leaders_go_back_to_where_they_are_preferred(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, partitions=3, replicas=3)
    preferred = {number: ids[0] for number, ids in enumerate(replicas(cluster, topic))}
    cluster.brokers[2].stop()
    cluster.brokers[2].start()
    cluster.wait_until_in_sync(topic)
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as admin:
        everything = [TopicPartition(topic, number) for number in preferred]
        answers = admin.elect_leaders(partitions=everything)
        assert any(answer is None for answer in answers.values())
        again = admin.elect_leaders(partitions=everything)
    assert all(error.code == ErrorCode.ELECTION_NOT_NEEDED for error in again.values())
    assert {n: each.leader for n, each in cluster.partitions(topic).items()} == preferred
