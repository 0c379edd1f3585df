"""How a broker starts: alone on its directory, and fast however much lies there."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consume, create_topic, produce

pytestmark = pytest.mark.compat

START_LIMIT_CPU_S = 2.0


def test_a_second_broker_on_the_same_data_is_refused(
    own_broker: Callable[..., OttlaBroker], tmp_path: Path
) -> None:
    broker = own_broker()
    done = subprocess.run(broker.command(port=0), capture_output=True, text=True, timeout=20)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert str(broker.data_dir) in said
    assert "Traceback" not in said
    assert broker.running
    produce(broker.bootstrap, create_topic(broker.bootstrap), [b"undisturbed"])


def test_a_port_in_use_is_refused_with_a_sentence(
    own_broker: Callable[..., OttlaBroker], tmp_path: Path
) -> None:
    broker = own_broker()
    rival = OttlaBroker(tmp_path / "rival")
    command = rival.command(port=broker.port)
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert str(broker.port) in said
    assert "Traceback" not in said


def test_a_thousand_partitions_open_fast(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    topic = create_topic(broker.bootstrap, partitions=1000)
    records = [{"value": b"%d" % n, "partition": n} for n in range(1000)]
    produce(broker.bootstrap, topic, records)
    assert broker.stop() == 0
    broker.start()
    assert broker.start_cpu_seconds < START_LIMIT_CPU_S
    found = admin(broker.bootstrap).list_topics(topic, timeout=10).topics[topic]
    assert len(found.partitions) == 1000
    assert [message.value() for message in consume(broker.bootstrap, topic, 999)] == [b"999"]


def test_a_clean_stop_keeps_everything(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    topic = create_topic(broker.bootstrap, partitions=2)
    for life in range(3):
        sent = produce(broker.bootstrap, topic, [b"%d" % life] * 5, enable_idempotence=True)
        broker.restart()
        assert len({message.partition() for message in sent}) >= 1
    messages = [m for partition in range(2) for m in consume(broker.bootstrap, topic, partition)]
    assert sorted(message.value() for message in messages) == [b"0"] * 5 + [b"1"] * 5 + [b"2"] * 5


def test_the_cluster_keeps_its_id(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    client = admin(broker.bootstrap)
    before = client.describe_cluster().result(10).cluster_id
    broker.restart()
    assert client.describe_cluster().result(10).cluster_id == before
