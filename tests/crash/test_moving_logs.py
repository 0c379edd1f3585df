"""kill -9 while a log moves to another directory, under a running producer."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import ottla
from ottla.client.administration.brokers import LogDir
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic
from tests.support.running_producer import RunningProducer, check_promises
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

KILLS = 4
ACKS_BETWEEN = 2_000


def place(broker: OttlaBroker, partition: ottla.TopicPartition) -> tuple[str | None, bool]:
    """Where the replica is, and whether it is on its way elsewhere."""
    with ottla.Admin({"bootstrap.servers": broker.bootstrap}) as admin:
        found = admin.describe_log_dirs([broker.broker_id])[broker.broker_id]
    held = [
        (path, each.replicas[partition].future)
        for path, each in found.items()
        if isinstance(each, LogDir) and partition in each.replicas
    ]
    current = next((path for path, future in held if not future), None)
    return current, any(future for _, future in held)


def move(broker: OttlaBroker, partition: ottla.TopicPartition, path: str) -> None:
    with ottla.Admin({"bootstrap.servers": broker.bootstrap}) as admin:
        assert admin.alter_replica_log_dirs(broker.broker_id, {partition: path}) == {
            partition: None
        }


def test_nothing_acknowledged_is_lost(
    own_broker: Callable[..., OttlaBroker], tmp_path: Path
) -> None:
    paths = [f"{tmp_path}/one", f"{tmp_path}/two"]
    settings = {"log.dirs": ",".join(paths), "log.segment.bytes": str(1 << 20)}
    broker = own_broker(settings)
    topic = create_topic(broker.bootstrap)
    partition = ottla.TopicPartition(topic, 0)
    chance = random.Random(7)
    with RunningProducer(broker.bootstrap, topic, 1) as running:
        for _ in range(KILLS):
            running.wait_for_acks(ACKS_BETWEEN)
            current, _ = place(broker, partition)
            [target] = set(paths) - {current}
            move(broker, partition, target)
            running.wait_for_acks(chance.choice([1, 50, 500]))
            broker.kill()
            broker.start()
            # What was begun is finished, before the kill or after it.
            wait_for(lambda target=target: place(broker, partition) == (target, False), "its end")
        running.finish()
    assert check_promises(broker.bootstrap, running) > KILLS * ACKS_BETWEEN
