"""A broker's start and stop: what they leave on the disk, above all when they fail."""

import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ottla.storage.checkpoint import read
from tests.support.broker import OttlaBroker
from tests.support.ottla_cli import Ottla
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import NOW_MS, Client
from tests.unit.broker.handlers.records import (
    batch,
    fetch,
    produce,
    produce_request,
    send,
    values,
)
from tests.unit.broker.handlers.test_delete_records import delete
from tests.unit.broker.handlers.test_fetch_waiting import delete_topic

CLEAN = ".kafka_cleanshutdown"
STARTS = "log-start-offset-checkpoint"

Brokers = Callable[..., OttlaBroker]


def contents(directory: Path) -> dict[str, bytes]:
    """The small files that say how a directory was left."""
    found = directory.iterdir()
    return {p.name: p.read_bytes() for p in found if p.is_file() and "sqlite" not in p.name}


def refused(broker: OttlaBroker) -> str:
    """What a broker says that does not start: one sentence, whatever else it logs."""
    done = subprocess.run(broker.command(port=0), capture_output=True, text=True, timeout=20)
    said = done.stdout + done.stderr
    assert (done.returncode, "Traceback" in said) == (1, False), said
    [sentence] = [line for line in said.splitlines() if line.startswith("ottla broker: ")]
    return sentence


def test_a_stopped_broker_leaves_a_mark_that_all_is_on_the_disk(own_broker: Brokers) -> None:
    broker = own_broker()
    assert CLEAN not in contents(broker.data_dir)
    assert broker.stop() == 0
    assert CLEAN in contents(broker.data_dir)
    broker.start()
    assert CLEAN not in contents(broker.data_dir)


def test_a_broker_stopped_under_load_keeps_what_it_acknowledged(own_broker: Brokers) -> None:
    broker = own_broker()
    acknowledged: list[int] = []
    with closing(Client(broker.bootstrap)) as client:
        topic = client.new_topic()

        def load() -> None:
            try:
                while True:
                    acknowledged.append(client.produce(topic, *[NOW_MS] * 100))
            except (EOFError, ConnectionError):
                return

        thread = threading.Thread(target=load)
        thread.start()
        wait_for(lambda: len(acknowledged) > 50, "some load")
        assert broker.stop() == 0
        thread.join()
    assert CLEAN in contents(broker.data_dir)
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        assert fetch(client, topic).high_watermark >= acknowledged[-1] + 100


def test_a_second_broker_leaves_no_trace_in_a_directory_that_is_taken(own_broker: Brokers) -> None:
    broker = own_broker()
    with closing(Client(broker.bootstrap)) as client:
        client.produce(client.new_topic())
    before = contents(broker.data_dir)
    assert "another broker holds its .lock" in refused(broker)
    assert contents(broker.data_dir) == before


@pytest.fixture
def crashed(own_broker: Brokers) -> OttlaBroker:
    """A broker that was killed; records of its only topic were deleted before."""
    broker = own_broker({"log.flush.start.offset.checkpoint.interval.ms": "20"})
    with closing(Client(broker.bootstrap)) as client:
        topic = client.new_topic()
        produce(client, topic, batch(b"a", b"b", b"c"))
        broker.restart()
    with closing(Client(broker.bootstrap)) as client:
        delete(client, topic, 2)
        wait_for(lambda: 2 in read(str(broker.data_dir), STARTS).values(), "the checkpoint")
        produce(client, topic, batch(b"d"))
    broker.kill()
    return broker


def test_a_start_that_fails_vouches_for_nothing(crashed: OttlaBroker) -> None:
    tree = crashed.data_dir / "metadata.sqlite"
    whole = tree.read_bytes()
    for journal in crashed.data_dir.glob("metadata.sqlite-*"):
        journal.unlink()
    tree.write_bytes(b"this is no database" * 1000)
    before = contents(crashed.data_dir)
    assert str(tree) in refused(crashed)
    assert contents(crashed.data_dir) == before
    tree.write_bytes(whole)


def test_a_directory_of_another_broker_is_refused(crashed: OttlaBroker) -> None:
    crashed.settings = {"node.id": "7"}
    before = contents(crashed.data_dir)
    assert "node.id=1" in refused(crashed)
    assert contents(crashed.data_dir) == before
    crashed.settings = {}


def test_after_a_crash_everything_is_as_it_was(crashed: OttlaBroker) -> None:
    [log] = [p for p in crashed.data_dir.iterdir() if p.name.startswith("topic-")]
    crashed.start()
    with closing(Client(crashed.bootstrap)) as client:
        found = fetch(client, log.name.removesuffix("-0"), 3)
        assert (found.log_start_offset, found.high_watermark) == (2, 4)
        assert values(found.records) == [b"d"]


def test_one_directory_of_two_may_fail_at_the_start(own_broker: Brokers, tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    lost.write_text("no directory")
    broker = own_broker({"log.dirs": f"{tmp_path / 'kept'},{lost}"})
    with closing(Client(broker.bootstrap)) as client:
        assert client.produce(client.new_topic()) == 0
    assert broker.stop() == 0
    assert CLEAN in contents(tmp_path / "kept")


def test_a_topic_deleted_while_it_is_synced_harms_nobody(own_broker: Brokers) -> None:
    broker = own_broker()
    with closing(Client(broker.bootstrap)) as client, closing(Client(broker.bootstrap)) as other:
        for _ in range(10):
            topic = client.new_topic(flush_messages=1)
            request = produce_request({topic: {0: batch(b"v" * 10_000)}})
            send(client, *[(request, 9)] * 20)
            delete_topic(other, topic)
            for _ in range(20):
                client.receive()
        assert client.produce(client.new_topic()) == 0


def test_the_level_of_the_log_is_changed_while_it_runs(
    own_broker: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = own_broker()
    ottla = Ottla(broker.bootstrap).at_home(monkeypatch)
    ottla.ok("configs", "set", "--all-brokers", "ottla.log.level=error")
    ottla.ok("topics", "create", "in-silence")
    ottla.ok("configs", "set", "--all-brokers", "ottla.log.level=info")
    ottla.ok("topics", "create", "aloud")
    assert "in-silence" not in broker.log
    assert "topic created topic=aloud" in broker.log
