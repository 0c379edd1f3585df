"""kafka-server-start and kafka-server-stop, typed as with Kafka; other brokers are left alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import READY
from tests.support.waiting import wait_for

BIN = Path(sys.executable).parent
TIMEOUT_S = 30
# No other broker on this machine has these ids, so no other is stopped.
FIRST_ID = 1_000_000_000 + os.getpid() * 2
SECOND_ID = FIRST_ID + 1


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    file = tmp_path / "server.properties"
    file.write_text(
        f"node.id={FIRST_ID}\nlisteners=PLAINTEXT://localhost:0\nlog.dirs={tmp_path / 'data'}\n"
    )
    return file


def stop(node_id: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "kafka-server-stop.sh", f"--node-id={node_id}"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.fixture
def started(properties: Path) -> Iterator[subprocess.Popen[str]]:
    line = [BIN / "kafka-server-start", properties, "--override", "num.partitions=3"]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as broker:
        yield broker
        broker.kill()


def test_a_broker_is_started_and_stopped(started: subprocess.Popen[str]) -> None:
    assert started.stdout is not None
    ready = next(found for found in map(READY.match, started.stdout) if found)
    assert ready[1] == str(FIRST_ID)
    stopped = stop(FIRST_ID)
    assert (stopped.stdout, stopped.stderr, stopped.returncode) == ("", "", 0)
    assert started.wait(TIMEOUT_S) == 0


def test_a_broker_behind(properties: Path, tmp_path: Path) -> None:
    override = ["--override", f"node.id={SECOND_ID}"]
    subprocess.run(
        [BIN / "kafka-server-start.sh", "-daemon", properties, *override],
        env={**os.environ, "LOG_DIR": str(tmp_path / "logs")},
        check=True,
        timeout=TIMEOUT_S,
    )
    output = tmp_path / "logs" / "kafkaServer.out"
    try:
        ready = wait_for(lambda: READY.search(output.read_text()), "the ready line", TIMEOUT_S)
        assert ready[1] == str(SECOND_ID)
    finally:
        assert stop(SECOND_ID).returncode == 0
    wait_for(lambda: stop(SECOND_ID).returncode == 1, "the end of the broker", TIMEOUT_S)
    assert stop(SECOND_ID).stderr == "No kafka server to stop\n"
