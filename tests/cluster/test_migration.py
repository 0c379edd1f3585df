"""One broker becomes a cluster: everything it had is still there when it is gone."""

import subprocess
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition

from ottla.client.administration.configs import ConfigResource, ResourceType
from ottla.client.sync_admin import SyncAdmin
from ottla.node.ensemble import LocalEnsemble
from tests.support.broker import OTTLA, OttlaBroker
from tests.support.clients import consume, consumer, create_topic, produce, producer

pytestmark = [pytest.mark.compat, pytest.mark.java]

Brokers = Callable[..., OttlaBroker]
VALUES = [b"%d" % number for number in range(200)]
GROUP = "readers"
SETTINGS = {
    "broker.id": "1",
    "broker.rack": "rack-1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
}


def run_migrate(broker: OttlaBroker, connect: str, *more: str) -> tuple[int, str]:
    command = [str(OTTLA), "cluster", "migrate", "--data-dir", str(broker.data_dir)]
    done = subprocess.run(
        [*command, "--zookeeper", connect, *more], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def setting(bootstrap: str, topic: str, name: str) -> str | None:
    with SyncAdmin({"bootstrap.servers": bootstrap}) as admin:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        [entries] = admin.describe_configs([resource], names=[name]).values()
    assert isinstance(entries, dict), entries
    return str(entries[name].value)


def committed(bootstrap: str, topic: str) -> int:
    client = consumer(bootstrap, **{"group.id": GROUP})
    [found] = client.committed([TopicPartition(topic, 0)], timeout=20)
    client.close()
    return int(found.offset)


def fill(bootstrap: str) -> str:
    """Records, a committed offset, and a transaction."""
    topic = create_topic(bootstrap, retention_ms=12_345_678)
    produce(bootstrap, topic, VALUES)
    client = consumer(bootstrap, **{"group.id": GROUP})
    client.commit(offsets=[TopicPartition(topic, 0, 123)], asynchronous=False)
    client.close()
    transactional = producer(bootstrap, **{"transactional.id": "copier"})
    transactional.init_transactions(20)
    transactional.begin_transaction()
    transactional.produce(topic, b"last")
    transactional.commit_transaction(20)
    return topic


@pytest.fixture
def migrated(own_broker: Brokers, zookeeper: LocalEnsemble) -> tuple[OttlaBroker, str, str]:
    """A broker that has begun alone and has its metadata in ZooKeeper now, what it has, and where they are."""
    alone, connect = own_broker(SETTINGS), f"{zookeeper.connect}/{uuid.uuid4().hex}"
    topic = fill(alone.bootstrap)
    code, said = run_migrate(alone, connect)
    assert (code, "another broker holds its .lock; stop it" in said) == (1, True), said
    alone.stop()
    code, said = run_migrate(alone, connect)
    assert (code, "--replication-factor 3" in said) == (0, True), said
    alone.settings = {**SETTINGS, "zookeeper.connect": connect}
    return alone.start(), topic, connect


def check(bootstrap: str, topic: str) -> None:
    """All that was filled in is there."""
    assert [each.value() for each in consume(bootstrap, topic)] == [*VALUES, b"last"]
    assert committed(bootstrap, topic) == 123
    assert setting(bootstrap, topic, "retention.ms") == "12345678"


def test_a_single_broker_becomes_the_first_of_three(
    migrated: tuple[OttlaBroker, str, str], own_broker: Brokers
) -> None:
    first, topic, connect = migrated
    check(first.bootstrap, topic)
    raising = ("--replication-factor", "3", "--all-topics", "-b", first.bootstrap)
    code, said = run_migrate(first, connect, *raising)
    assert (code, "1 of 3 brokers are registered" in said) == (1, True), said
    others = [own_broker({**first.settings, "broker.id": number}) for number in ("2", "3")]
    code, said = run_migrate(first, connect, *raising)
    assert (code, f"{topic}: 3 replicas" in said) == (0, True), said
    first.kill()
    rest = ",".join(each.bootstrap for each in others)
    check(rest, topic)
    assert setting(rest, "__transaction_state", "min.insync.replicas") == "2"
    produce(rest, topic, [b"more"], acks="all")
    producer(rest, **{"transactional.id": "copier"}).init_transactions(20)
