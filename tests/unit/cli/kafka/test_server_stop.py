"""Whom kafka-server-stop would stop, by command lines; nobody is stopped here."""

import os

import pytest

from ottla.cli.kafka.server_processes import broker_arguments, broker_processes, read_arguments
from ottla.cli.kafka.server_stop import main


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("/venv/bin/python3 /venv/bin/ottla broker s.properties", ["s.properties"]),
        ("python -X dev -m ottla broker --port 0", ["--port", "0"]),
        ("/usr/bin/python3.11 /venv/bin/kafka-server-start.sh s.properties", ["s.properties"]),
        ("python /venv/bin/ottla up", []),
    ],
)
def test_brokers(line: str, arguments: list[str]) -> None:
    assert broker_arguments(line.split()) == arguments


@pytest.mark.parametrize(
    "line",
    [
        "python /venv/bin/ottla topics list",
        "vim /venv/bin/ottla broker",
        "java kafka.Kafka server.properties",
        "python -c pass",
        "python",
        "bash -c ottla broker",
        "",
    ],
)
def test_programs_that_are_none(line: str) -> None:
    assert broker_arguments(line.split()) is None


def test_settings_on_a_command_line() -> None:
    words = ["s.properties", "--set", "node.id=7", "--port", "0", "--override=a=b"]
    assert read_arguments(words) == ("s.properties", {"node.id": "7", "a": "b"})


def test_this_process_is_no_broker() -> None:
    assert os.getpid() not in {process.pid for process in broker_processes()}


def test_a_broker_that_nobody_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--node-id=2147480001"]) == 1
    assert capsys.readouterr().err == "No kafka server to stop\n"


@pytest.mark.parametrize("words", [["--node-id", "x"], ["--process-role=none"], ["frob"]])
def test_options_that_are_not_understood_stop_nobody(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    assert "USAGE: kafka-server-stop" in capsys.readouterr().err


def test_an_unknown_signal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ottla.cli.kafka.server_stop.broker_processes", lambda: [object()])
    monkeypatch.setenv("SIGNAL", "NOSUCH")
    assert main([]) == 1
    assert capsys.readouterr().err == "SIGNAL=NOSUCH: there is no such signal\n"
