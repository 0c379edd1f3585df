"""A cluster for tests: a broker is killed, and what it led goes on."""

from collections.abc import Iterator

import pytest

import ottla
from ottla.testing import Cluster
from tests.support.requirements import requires


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    requires("java", "maven")
    from tools.apache_zookeeper import jars

    monkeypatch.setenv("ZOOKEEPER_HOME", str(jars()))
    with Cluster() as cluster:
        yield cluster


def test_a_leader_is_killed_and_another_goes_on(cluster: Cluster) -> None:
    assert [broker.node_id for broker in cluster.brokers.values()] == [1, 2, 3]
    topic = cluster.create_topic(partitions=1)
    first = cluster.leader(topic)
    with ottla.Producer(bootstrap_servers=cluster.bootstrap_servers, acks="all") as producer:
        assert producer.send(topic, b"a").result().offset == 0
        first.kill()
        assert producer.send(topic, b"b").result().offset == 1
    assert cluster.leader(topic) is not first
    first.start()
    assert first.running
