"""A broker for a test: started, used, stopped, killed, started again on the same data."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ottla
from ottla.testing import Broker, BrokerFailed
from tests.support.waiting import wait_for


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(num_partitions=3) as broker:
        yield broker


def produce(broker: Broker, topic: str, *values: str) -> None:
    with ottla.Producer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
        for value in values:
            producer.send(topic, value.encode())


def first_values(broker: Broker, topic: str) -> list[bytes]:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
    with ottla.Consumer(settings) as consumer:
        consumer.assign([ottla.TopicPartition(topic, 0)])
        return [record.value for record in consumer.poll(10)]


def partitions(broker: Broker, topic: str) -> int:
    with ottla.Admin({"bootstrap.servers": broker.bootstrap_servers}) as admin:
        return len(admin.describe_topics([topic])[topic].partitions)


def test_settings_are_given_as_keywords_or_as_a_dict(broker: Broker) -> None:
    produce(broker, "made-by-itself", "a")
    assert partitions(broker, "made-by-itself") == 3
    both = Broker({"num.partitions": 1, "log.cleaner.enable": True}, num_partitions=4)
    assert both.settings["num.partitions"] == "4"
    assert both.settings["log.cleaner.enable"] == "true"
    both.close()


def test_a_topic_has_the_settings_that_were_asked_for(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2, cleanup_policy="compact")
    assert (topic.partitions, partitions(broker, topic)) == (2, 2)
    with pytest.raises(ottla.ApiError, match="exists"):
        broker.create_topic(topic)


@pytest.mark.parametrize("end", [Broker.stop, Broker.kill])
def test_data_and_port_outlive_a_stop_and_a_crash(
    broker: Broker, end: Callable[[Broker], None]
) -> None:
    topic = broker.create_topic()
    produce(broker, topic, "before")
    address = broker.bootstrap_servers
    end(broker)
    assert not broker.running
    broker.start()
    assert broker.bootstrap_servers == address
    assert first_values(broker, topic) == [b"before"]


def test_a_restart_is_a_stop_and_a_start(broker: Broker) -> None:
    before = broker.pid
    broker.restart()
    assert broker.running
    assert broker.pid != before
    assert "broker stopped" in broker.log


def test_temporary_data_are_removed_and_the_log_is_not() -> None:
    with Broker() as broker:
        directory = broker.data_dir
        assert directory.exists()
    assert not directory.exists()
    assert not broker.running
    assert "broker ready" in broker.log


def test_data_are_kept_where_they_were_wanted(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "kept") as broker:
        topic = broker.create_topic("kept")
        produce(broker, topic, "a")
    with Broker(data_dir=tmp_path / "kept") as broker:
        assert first_values(broker, topic) == [b"a"]


def test_a_setting_that_does_not_exist_is_named() -> None:
    with pytest.raises(BrokerFailed, match=r"num\.partition=3: is not a setting; did you mean"):
        Broker(num_partition=3).start()


def test_a_broker_that_does_not_run_says_so(broker: Broker) -> None:
    idle = Broker()
    with pytest.raises(BrokerFailed, match="is not running: start it"):
        idle.faults.drop_connections()
    with pytest.raises(BrokerFailed, match="is running already"):
        broker.start()


def test_a_broker_that_was_killed_by_others_is_noticed_and_restored(broker: Broker) -> None:
    os.kill(broker.pid, signal.SIGKILL)
    wait_for(lambda: not broker.running, "the end of the broker")
    with pytest.raises(BrokerFailed, match="the broker has ended; it said"):
        broker.faults.drop_connections()
    broker.restore()
    assert broker.running


def test_it_ends_with_the_process_that_started_it() -> None:
    program = (
        "import os, ottla.testing\n"
        "broker = ottla.testing.Broker().start()\n"
        "print(broker.pid, broker.data_dir, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    pid, data_dir = ran.stdout.split()
    wait_for(lambda: not Path(data_dir).parent.exists(), "its directory to be removed")
    state = Path(f"/proc/{pid}/stat")
    wait_for(lambda: not state.exists() or ") Z " in state.read_text(), "its end")


def test_the_package_does_without_pytest() -> None:
    program = "import sys, ottla.testing; ottla.testing.Broker; print('pytest' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "False"
