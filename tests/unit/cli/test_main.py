"""The command line, as a person meets it."""

import os
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ottla._version import __version__
from tests.support.broker import OTTLA

PORT_ZERO = ("--port", "0")


def ottla(*arguments: str, cwd: Path | None = None, **environment: str):
    """Run a command that is expected to end by itself."""
    return subprocess.run(
        [str(OTTLA), *arguments],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=cwd,
        env={**os.environ, **environment},
    )


def refused(*arguments: str, **environment: str) -> str:
    """What is said, in one sentence, where a broker does not start."""
    done = ottla(*arguments, **environment)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "Traceback" not in done.stderr
    [sentence] = done.stderr.splitlines()
    return sentence


def test_the_version_is_told() -> None:
    done = ottla("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"ottla {__version__}")


@pytest.mark.parametrize("arguments", [("--help",), ("broker", "--help"), ("up", "--help")])
def test_every_command_explains_itself(arguments: tuple[str, ...]) -> None:
    done = ottla(*arguments)
    assert done.returncode == 0
    assert "usage: ottla" in done.stdout


@pytest.mark.parametrize("arguments", [(), ("fly",), ("broker", "--port", "many")])
def test_what_is_not_a_command_is_refused_with_the_usage(arguments: tuple[str, ...]) -> None:
    done = ottla(*arguments)
    assert done.returncode == 2
    assert "usage: ottla" in done.stderr


WRONG = {
    "an unknown setting": (("--set", "log.retention.hour=1"), "did you mean log.retention.hours?"),
    "no assignment": (("--set", "log.retention.hours"), "must have the form name=value"),
    "a value of the wrong kind": (
        ("--set", "log.retention.hours=soon"),
        "log.retention.hours=soon",
    ),
    "a value out of range": (("--set", "log.segment.bytes=1"), "log.segment.bytes=1"),
    "a port that cannot be": (("--port", "70000"), "70000"),
    "a listener that makes no sense": (("--set", "listeners=nonsense"), "listeners"),
    "a file that is not there": (("missing.properties",), "missing.properties: cannot be read"),
}


@pytest.mark.parametrize(("arguments", "why"), WRONG.values(), ids=WRONG.keys())
def test_bad_settings_are_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    sentence = refused("broker", "--data-dir", str(tmp_path / "data"), *arguments)
    assert sentence.startswith("ottla broker: ")
    assert why in sentence
    assert not (tmp_path / "data").exists()


def test_a_bad_line_in_a_file_is_refused_with_its_name(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(f"log.dirs={tmp_path / 'data'}\nnum.partitions=none\n")
    sentence = refused("broker", str(properties))
    assert "num.partitions=none" in sentence
    assert str(properties) in sentence


def test_a_bad_variable_is_refused_with_its_name(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    sentence = refused("broker", "--data-dir", data, OTTLA_NUM_PARTITIONS="none")
    assert "num.partitions=none" in sentence
    assert "OTTLA_NUM_PARTITIONS" in sentence


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = str(taken.getsockname()[1])
        sentence = refused("broker", "--port", port, "--data-dir", str(tmp_path / "data"))
    assert port in sentence
    assert "is another broker running there?" in sentence
    assert not (tmp_path / "data").exists()


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = ottla("broker", *PORT_ZERO, "--data-dir", str(tmp_path / "file" / "data"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("ottla broker: no usable log directory: ")


def test_what_up_shows_works_in_another_terminal(tmp_path: Path) -> None:
    command = [str(OTTLA), "up", *PORT_ZERO]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        shown = [up.stdout.readline()]
        while "Ctrl-C" not in shown[-1]:
            shown.append(up.stdout.readline())
            assert shown[-1], shown
        producer, consumer, topics, python = [line for line in shown if line.startswith(" " * 4)]
        assert pasted(producer) == ""
        assert "hello" in pasted(topics)
        assert pasted(python) == ""
        assert pasted(consumer.rstrip() + " --max-messages 2") == "hello, ottla\n" * 2
        [metrics] = [line.split()[1] for line in shown if line.startswith("  metrics ")]
        with urllib.request.urlopen(metrics, timeout=10) as page:
            assert b"ottla_connections" in page.read()
        [rest] = [line.split()[1].rstrip(",") for line in shown if line.startswith("  REST ")]
        with urllib.request.urlopen(f"{rest}/topics", timeout=10) as page:
            assert b"hello" in page.read()
        up.send_signal(signal.SIGINT)
        assert up.wait(20) == 0
        assert up.stdout.read() == "ottla stopped\n"
        with pytest.raises(OSError):
            urllib.request.urlopen(f"{rest}/health/live", timeout=10)
    assert (tmp_path / "ottla-data" / "meta.properties").exists()


def pasted(line: str) -> str:
    """What a line prints in a terminal that knows nothing of where ottla is installed."""
    done = subprocess.run(
        ["/bin/sh", "-c", line.strip()],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


def test_the_metrics_are_a_hundred_ports_above_the_broker_or_where_there_is_room(
    tmp_path: Path,
) -> None:
    port = port_with_room_above()
    with broker_on(port, tmp_path / "first") as (ready, metrics):
        assert ready == f"ottla broker 1 ready on localhost:{port}\n"
        assert metrics == f"metrics on http://127.0.0.1:{port + 100}/metrics\n"
    with (
        socket.create_server(("127.0.0.1", port + 100)),
        broker_on(port, tmp_path / "second") as (_, metrics),
    ):
        found = re.fullmatch(r"metrics on http://127.0.0.1:(\d+)/metrics\n", metrics)
        assert found is not None
        assert int(found[1]) != port + 100


def port_with_room_above() -> int:
    """A free port whose hundredth neighbour is free as well."""
    for _ in range(100):
        with socket.create_server(("localhost", 0)) as free, suppress(OSError, OverflowError):
            port: int = free.getsockname()[1]
            with socket.create_server(("127.0.0.1", port + 100)):
                return port
    raise AssertionError("no two free ports are a hundred apart")


@contextmanager
def broker_on(port: int, data: Path) -> Iterator[tuple[str, str]]:
    """A broker's two lines, while it runs."""
    command = [str(OTTLA), "broker", "--port", str(port), "--data-dir", str(data)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as broker:
        assert broker.stdout is not None
        yield broker.stdout.readline(), broker.stdout.readline()
        broker.terminate()


def test_up_wants_at_least_one_broker() -> None:
    assert "a cluster has at least one broker" in refused("up", "--brokers", "0")
