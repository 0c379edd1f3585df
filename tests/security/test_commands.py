"""Kafka's commands and ottla's, with the settings of a client who may come in."""

from pathlib import Path
from uuid import uuid4

import pytest

from ottla.cli.main import main
from tests.golden.transcript import run
from tests.support.secured_kafka import SecuredKafka, jaas

pytestmark = pytest.mark.compat


@pytest.fixture
def config(secured: SecuredKafka, tmp_path: Path) -> str:
    """The file for --command-config."""
    file = tmp_path / "client.properties"
    settings = secured.settings("SASLTLS")
    lines = [f"{name}={value}".replace("\\", "\\\\") for name, value in settings.items()]
    file.write_text("\n".join(lines))
    return str(file)


def test_topics_are_made_and_listed(secured: SecuredKafka, config: str) -> None:
    topic = f"t-{uuid4().hex}"
    where = ("--bootstrap-server", secured.address("SASLTLS"), "--command-config", config)
    made = run("kafka-topics", "--create", "--topic", topic, *where)
    assert made.stdout == f"Created topic {topic}.\n"
    listed = run("kafka-topics", "--list", *where)
    assert topic in listed.stdout.splitlines()
    groups = run("kafka-consumer-groups", "--list", *where)
    assert groups.code == 0


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [("--producer.config", "--consumer.config"), ("--command-config", "--command-config")],
)
def test_lines_are_written_and_read(
    secured: SecuredKafka, config: str, producer: str, consumer: str
) -> None:
    where = ("--topic", f"t-{uuid4().hex}", "--bootstrap-server", secured.address("SASLTLS"))
    written = run("kafka-console-producer", *where, producer, config, stdin="one\ntwo\n")
    assert written.code == 0, written
    read = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "20000")
    found = run("kafka-console-consumer", *where, consumer, config, *read)
    assert sorted(found.stdout.split()[-2:]) == ["one", "two"]


def test_settings_one_by_one(secured: SecuredKafka) -> None:
    where = ("--topic", f"t-{uuid4().hex}", "--bootstrap-server", secured.address("SASLTLS"))
    pairs = [f"--command-property={n}={v}" for n, v in secured.settings("SASLTLS").items()]
    words = [word for pair in pairs for word in pair.split("=", 1)]
    written = run("kafka-console-producer", *where, *words, stdin="one\n")
    assert written.code == 0, written


def test_a_wrong_password_is_one_sentence(secured: SecuredKafka, config: str) -> None:
    with open(config, "a") as file:
        file.write("\nsasl.jaas.config=" + jaas("SCRAM", password="hunter2"))
    where = ("--bootstrap-server", secured.address("SASLTLS"), "--command-config", config)
    done = run("kafka-topics", "--list", *where)
    assert done.code == 1
    said = done.stdout + done.stderr
    assert "check user and password in sasl.jaas.config" in said
    assert "hunter2" not in said
    assert "Traceback" not in said


def test_a_context_keeps_the_settings_and_hides_the_password(
    secured: SecuredKafka,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = secured.settings("SASLTLS")
    pairs = [f"-X{name}={value}" for name, value in settings.items()]
    assert main(["context", "add", "safe", "-b", settings["bootstrap.servers"], *pairs]) == 0
    assert main(["brokers", "list", "--context", "safe"]) == 0
    assert main(["context", "show", "safe", "-o", "json"]) == 0
    printed = capsys.readouterr().out
    assert '"sasl.jaas.config": "[hidden]"' in printed
    assert "ann" not in printed
