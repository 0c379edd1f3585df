"""A ZooKeeper ensemble of one's own: it serves, says why it does not, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.node.ensemble import (
    EnsembleFailed,
    LocalEnsemble,
    Server,
    four_letter_word,
    free_ports,
)
from tests.support.waiting import wait_for
from tests.support.zookeeper import classpath, ensemble

STARTS_ONE = """
import sys, time
from pathlib import Path
from ottla.node.ensemble import LocalEnsemble
local = LocalEnsemble(Path(sys.argv[1]), classpath=sys.argv[2])
local.start()
print(local.servers[0].pid, flush=True)
time.sleep(300)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_a_number_of_servers_that_gains_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnsembleFailed, match="has 1, 3, 5 or 7 servers, not 2"):
        LocalEnsemble(tmp_path, 2)


def test_a_server_answers_on_this_machine_alone_and_keeps_its_data(tmp_path: Path) -> None:
    ready: list[Server] = []
    local = LocalEnsemble(tmp_path, classpath=classpath())
    local.start(on_ready=ready.append)
    try:
        [server] = local.servers
        assert ready == [server]
        assert local.connect == f"127.0.0.1:{server.client_port}"
        assert four_letter_word("127.0.0.1", server.client_port, "ruok") == "imok"
        assert "clientPortAddress=127.0.0.1" in server.settings_file.read_text()
    finally:
        local.stop()
    assert four_letter_word("127.0.0.1", server.client_port, "ruok") == ""
    assert list((tmp_path / "zookeeper-1" / "version-2").iterdir())


def test_a_port_that_is_taken_is_told_with_the_servers_own_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        local = LocalEnsemble(tmp_path, client_ports=[port], classpath=classpath())
        with pytest.raises(EnsembleFailed, match=r"(?s)server 1 ended.*Address already in use"):
            local.start()
    assert not local.servers[0].running


def test_three_servers_elect_a_leader_and_another_when_it_is_gone(tmp_path: Path) -> None:
    with ensemble(tmp_path, 3) as local:
        assert sorted(s.mode() for s in local.servers) == ["follower", "follower", "leader"]
        first = local.leader
        first.kill()
        modes = [s for s in local.servers if s is not first]
        wait_for(lambda: any(s.mode() == "leader" for s in modes), "another leader", 30)
        local.launch(first)
        local.wait_until_serving(first)
        assert first.mode() == "follower"


def test_servers_end_with_whoever_started_them(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_ONE, str(tmp_path), classpath()], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), "the end of the server", 10)


def test_free_ports_are_distinct() -> None:
    assert len(set(free_ports(50))) == 50
