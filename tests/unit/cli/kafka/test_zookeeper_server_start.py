"""zookeeper-server-start and -stop: a server of one's own, in the foreground or as a daemon."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.cli.kafka.zookeeper_server_start import MARK
from ottla.cli.kafka.zookeeper_server_stop import servers
from ottla.node.ensemble import HOST, four_letter_word, free_ports
from tests.support.waiting import wait_for
from tests.support.zookeeper import environment

BIN = Path(sys.executable).parent
START, STOP = BIN / "zookeeper-server-start", BIN / "zookeeper-server-stop"


class Properties:
    """A zookeeper.properties as Kafka's users write it."""

    def __init__(self, directory: Path) -> None:
        [self.port] = free_ports(1)
        self.file = directory / "zookeeper.properties"
        self.file.write_text(
            f"# a comment\ndataDir={directory / 'data'}\nclientPort={self.port}\n"
            "admin.enableServer=false\n4lw.commands.whitelist=*\n"
        )

        self.environment = {
            **os.environ,
            **environment(),
            "KAFKA_HEAP_OPTS": "-Xmx64M",
            "LOG_DIR": str(directory / "logs"),
        }

    def wait_until_serving(self) -> None:
        wait_for(lambda: four_letter_word(HOST, self.port, "ruok") == "imok", "ZooKeeper", 60)

    def pids(self) -> list[int]:
        return list(servers(os.getuid(), str(self.file)))


@pytest.fixture
def properties(tmp_path: Path) -> Properties:
    return Properties(tmp_path)


def run(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    line = list(map(str, words))
    return subprocess.run(line, capture_output=True, text=True, timeout=30, **more)  # type: ignore[call-overload]


def test_in_the_foreground_and_stopped(properties: Properties, tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output:
        server = subprocess.Popen(
            [START, properties.file], stdout=output, stderr=output, env=properties.environment
        )
    try:
        properties.wait_until_serving()
        ready = f"ZooKeeper ready on localhost:{properties.port}\n"
        wait_for(lambda: ready in (tmp_path / "output").read_text(), "the news that it serves")
        assert "DEBUG" not in (tmp_path / "output").read_text()
        assert properties.pids() == [server.pid], "signals reach the server itself"
        assert run(STOP, properties.file).returncode == 0
        assert server.wait(20) in (-signal.SIGTERM, 128 + signal.SIGTERM)
    finally:
        server.kill()
        server.wait()
    again = run(STOP, properties.file)
    assert (again.returncode, again.stdout) == (1, "No zookeeper server to stop\n")


def test_as_a_daemon(properties: Properties, tmp_path: Path) -> None:
    started = run(START, "-daemon", properties.file, env=properties.environment)
    assert started.returncode == 0
    assert f"starts on localhost:{properties.port}" in started.stdout
    try:
        properties.wait_until_serving()
        assert (tmp_path / "logs" / "zookeeper.out").exists()
    finally:
        assert run(STOP, properties.file).returncode == 0
    wait_for(lambda: not properties.pids(), "the server to end")


def test_only_servers_that_were_started_so_are_stopped(tmp_path: Path) -> None:
    lines = {
        11: ["java", MARK, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/a.properties"],
        12: ["java", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/b.properties"],
        13: ["java", MARK, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/c.properties"],
    }
    for pid, words in lines.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_text("".join(f"{word}\0" for word in words))
    (tmp_path / "14").mkdir()
    me = os.getuid()
    assert sorted(servers(me, None, tmp_path)) == [11, 13]
    assert list(servers(me, "/c.properties", tmp_path)) == [13]
    assert list(servers(me + 1, None, tmp_path)) == []


def test_what_cannot_be_started(tmp_path: Path) -> None:
    missing = tmp_path / "missing.properties"
    done = run(START, missing)
    assert (done.returncode, done.stderr) == (1, f"{missing}: No such file or directory\n")
    for words in ((), ("-daemon",), ("a", "b")):
        assert run(START, *words).stderr.startswith("USAGE: zookeeper-server-start [-daemon]")
    assert run(STOP, "-x").returncode == 1
