"""A broker that is not there, or is none: one sentence that says what to check."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.golden.transcript import run

BIN = Path(sys.executable).parent
LINES = {
    "kafka-topics": ("--list",),
    "kafka-configs": ("--describe", "--topic", "t"),
    "kafka-get-offsets": ("--topic", "t"),
    "kafka-log-dirs": ("--describe",),
    "kafka-leader-election": ("--election-type", "preferred", "--all-topic-partitions"),
    "kafka-reassign-partitions": ("--list",),
    "kafka-acls": ("--list",),
    "kafka-cluster": ("cluster-id",),
    "kafka-broker-api-versions": (),
    "kafka-consumer-groups": ("--list",),
    "kafka-groups": ("--list",),
    "kafka-transactions": ("list",),
    "kafka-console-consumer": ("--topic", "t"),
    "kafka-producer-perf-test": (
        *("--topic", "t", "--num-records", "9"),
        *("--record-size", "9", "--throughput", "-1"),
    ),
    "kafka-consumer-perf-test": ("--topic", "t", "--num-records", "9", "--hide-header"),
    "kafka-e2e-latency": (
        *("--topic", "t", "--num-records", "9"),
        *("--record-size", "9", "--producer-acks", "all"),
    ),
}
TITLE = "Error while executing config command"


def sentence(command: str, bootstrap: str, *more: str) -> str:
    """The one thing that is said, wherever Kafka's own tool says it."""
    words = (*LINES[command], "--bootstrap-server", bootstrap, *more)
    done = run(command, *words)
    assert done.code == 1
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    [said] = [line for line in lines if not line.startswith(TITLE)]
    return said


@pytest.fixture
def unused_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize("command", LINES)
def test_nobody_listens(command: str, unused_port: int) -> None:
    said = sentence(command, f"127.0.0.1:{unused_port}")
    assert f"nothing listens on 127.0.0.1:{unused_port}" in said
    assert "check that the broker runs" in said


def test_a_name_that_is_unknown() -> None:
    assert "no-such-host.invalid:9092" in sentence("kafka-topics", "no-such-host.invalid:9092")


@pytest.mark.parametrize("text", ["localhost", "localhost:port", ":9092", "a:1,b"])
def test_an_address_that_is_none(text: str) -> None:
    assert "must be host:port, such as localhost:9092" in sentence("kafka-topics", text)


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def web_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_port_that_speaks_http(web_server: str, tmp_path: Path) -> None:
    impatient = tmp_path / "client.properties"
    impatient.write_text("socket.connection.setup.timeout.ms=700\n")
    said = sentence("kafka-topics", web_server, "--command-config", str(impatient))
    assert "speaks HTTP, not Kafka's protocol" in said


def test_settings_of_other_clients_in_a_file_are_passed_over(
    unused_port: int, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("acks=all\nclient.id=me\n")
    words = ("--list", "--bootstrap-server", f"127.0.0.1:{unused_port}")
    done = run("kafka-topics", *words, "--command-config", str(file))
    assert done.stderr == f"{file}: acks is no setting of an admin client and is ignored.\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("security.protocol=SASL_SSL\n", "sasl.mechanism: is missing"),
        ("a=\\u12\n", "four hexadecimal"),
    ],
)
def test_a_file_that_cannot_be_followed(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(content)
    assert why in sentence("kafka-log-dirs", "127.0.0.1:1", "--command-config", str(file))


def test_ctrl_c_ends_a_command_without_a_word() -> None:
    """A server that accepts and says nothing keeps the command waiting."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        line = [BIN / "kafka-topics", "--bootstrap-server", address, "--list"]
        pipe = subprocess.PIPE
        with subprocess.Popen(line, stdout=pipe, stderr=pipe) as command:
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(4)
                command.send_signal(2)
                out, err = command.communicate(timeout=20)
    assert (command.returncode, out, err) == (130, b"", b"")
