"""A broker with its metadata in ZooKeeper serves clients as any other, whatever becomes of ZooKeeper."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from kazoo.client import KazooClient

from ottla.node.ensemble import LocalEnsemble
from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consume, create_topic, produce, unique_name
from tests.support.members import Confluent, read_all
from tests.support.waiting import wait_for
from tests.support.zookeeper import ensemble, freeze, new_chroot, thaw

pytestmark = pytest.mark.compat
Start = Callable[..., OttlaBroker]
VALUES = [b"%d" % n for n in range(100)]


@contextmanager
def looking_into(connect: str) -> Iterator[KazooClient]:
    """ZooKeeper as its own tools show it."""
    client = KazooClient(connect)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


def created(bootstrap: str) -> str | None:
    """A new topic; None while there is no controller that would make one."""
    try:
        return create_topic(bootstrap)
    except KafkaException:
        return None


def test_what_clients_do_shows_in_kafkas_own_layout(
    own_broker: Start, zookeeper: LocalEnsemble
) -> None:
    connect = zookeeper.connect + new_chroot()
    broker = own_broker({"zookeeper.connect": connect, "broker.id": "5"})
    topic = create_topic(broker.bootstrap, partitions=2, retention_ms=1000)
    with looking_into(connect) as zk:
        assert json.loads(zk.get("/controller")[0])["brokerid"] == 5
        registration = json.loads(zk.get("/brokers/ids/5")[0])
        assert registration["endpoints"] == [f"PLAINTEXT://{broker.bootstrap}"]
        assert json.loads(zk.get(f"/brokers/topics/{topic}")[0])["partitions"] == {
            "0": [5],
            "1": [5],
        }
        state = json.loads(zk.get(f"/brokers/topics/{topic}/partitions/1/state")[0])
        assert (state["leader"], state["isr"]) == (5, [5])
        config = json.loads(zk.get(f"/config/topics/{topic}")[0])["config"]
        assert config == {"retention.ms": "1000"}
        assert json.loads(zk.get("/cluster/id")[0])["id"]
        broker.stop()
        assert zk.exists("/brokers/ids/5") is None, "a farewell, not a time-out"
        assert zk.exists("/controller") is None


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
def test_topics_records_and_groups_outlive_the_broker(
    own_broker: Start, zookeeper: LocalEnsemble, crash: bool
) -> None:
    settings = {
        "zookeeper.connect": zookeeper.connect + new_chroot(),
        "group.initial.rebalance.delay.ms": "0",
        # A cluster of one broker never has the three that the topic wants unless it is told so (KIP-115).
        "offsets.topic.replication.factor": "1",
    }
    broker = own_broker(settings)
    topic, group = create_topic(broker.bootstrap), unique_name("group")
    produce(broker.bootstrap, topic, VALUES, acks="all", enable_idempotence=True)
    member = Confluent(broker.bootstrap, group, topic)
    assert len(read_all([member], 100)) == 100
    member.close()
    if crash:
        broker.kill()
    else:
        broker.stop()
    broker.start()
    assert [message.value() for message in consume(broker.bootstrap, topic)] == VALUES
    produce(broker.bootstrap, topic, [b"more"])
    member = Confluent(broker.bootstrap, group, topic)
    assert [value for _, _, value in read_all([member], 1)] == [b"more"]
    member.close()
    client = admin(broker.bootstrap)
    client.delete_topics([topic])[topic].result(20)


def test_a_leader_serves_while_zookeeper_is_away_and_all_resumes(
    own_broker: Start, tmp_path: Path
) -> None:
    with ensemble(tmp_path / "zookeeper") as local:
        settings = {
            "zookeeper.connect": local.connect,
            "zookeeper.session.timeout.ms": "3000",
        }
        broker = own_broker(settings)
        topic = create_topic(broker.bootstrap)
        [server] = local.servers
        freeze(server)
        wait_for(lambda: "state=lost" in broker.log, "the loss of the session")
        produce(broker.bootstrap, topic, VALUES)
        assert [message.value() for message in consume(broker.bootstrap, topic)] == VALUES
        thaw(server)
        wait_for(lambda: broker.log.count("state=connected") == 2, "its return")
        made = wait_for(lambda: created(broker.bootstrap), "a controller")
        produce(broker.bootstrap, made, VALUES)
        assert broker.stop() == 0
