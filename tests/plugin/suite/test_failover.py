"""A shop's tests on a cluster: a broker dies, and orders go on."""

import ottla
from ottla.testing import Cluster


def test_a_leader_is_killed_and_another_goes_on(ottla_cluster: Cluster) -> None:
    assert [broker.node_id for broker in ottla_cluster.brokers.values()] == [1, 2, 3]
    topic = ottla_cluster.create_topic()
    first = ottla_cluster.leader(topic)
    with ottla.Producer(bootstrap_servers=ottla_cluster.bootstrap_servers, acks="all") as producer:
        assert producer.send(topic, b"a").result(20).offset == 0
        first.kill()
        assert producer.send(topic, b"b").result(20).offset == 1
    assert ottla_cluster.leader(topic) is not first


def test_the_next_test_finds_all_brokers_alive(ottla_cluster: Cluster) -> None:
    assert all(broker.running for broker in ottla_cluster.brokers.values())
