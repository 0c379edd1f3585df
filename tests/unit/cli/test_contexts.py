"""Contexts: a person names clusters, and commands talk to the one that is in use."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from ottla.cli.connect import client_settings
from ottla.cli.main import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without contexts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("OTTLA_CONTEXT", raising=False)
    monkeypatch.delenv("OTTLA_BOOTSTRAP_SERVERS", raising=False)
    return tmp_path


def servers(**options: str | None) -> str:
    said = {"bootstrap_server": None, "context": None, "client_settings": []} | options
    return client_settings(Namespace(**said))["bootstrap.servers"]


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 1
    return capsys.readouterr().err


def test_contexts_are_added_used_and_removed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert servers() == "localhost:9092"
    assert main(["context", "add", "dev", "-b", "dev:9092"]) == 0
    assert main(["context", "add", "prod", "-b", "a:1,b:2", "-X", "request.timeout.ms=5"]) == 0
    assert servers() == "dev:9092"
    assert main(["context", "use", "prod"]) == 0
    assert servers() == "a:1,b:2"
    capsys.readouterr()
    assert main(["context", "list", "-o", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["context"], each["current"]) for each in listed] == [
        ("dev", False),
        ("prod", True),
    ]
    assert main(["context", "show"]) == 0
    assert "request.timeout.ms" in capsys.readouterr().out.lower()
    assert main(["context", "remove", "prod"]) == 0
    assert servers() == "localhost:9092"
    assert (home / "ottla" / "contexts.json").stat().st_mode & 0o777 == 0o600


def test_what_is_nearer_is_stronger(monkeypatch: pytest.MonkeyPatch) -> None:
    main(["context", "add", "dev", "-b", "dev:1"])
    main(["context", "add", "prod", "-b", "prod:1"])
    monkeypatch.setenv("OTTLA_CONTEXT", "prod")
    assert servers() == "prod:1"
    assert servers(context="dev") == "dev:1"
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", "shell:1")
    assert servers() == "shell:1"
    assert servers(context="dev") == "dev:1"
    assert servers(bootstrap_server="option:1") == "option:1"


def test_what_cannot_be_is_refused_in_one_sentence(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["context", "add", "prod", "-b", "prod:1"])
    capsys.readouterr()
    assert "did you mean prod?" in refused(capsys, "context", "use", "prd")
    assert "did you mean prod?" in refused(capsys, "topics", "list", "--context", "prod2")
    assert "--replace changes it" in refused(capsys, "context", "add", "prod", "-b", "x:1")
    assert "must be host:port" in refused(capsys, "context", "add", "new", "-b", "nonsense")
    assert "write it as NAME=VALUE" in refused(capsys, "topics", "list", "-X", "retries")
    (home / "ottla" / "contexts.json").write_text("[]")
    assert "is not a file of contexts" in refused(capsys, "context", "list")


def test_a_cluster_that_is_away_is_blamed_on_its_context(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["context", "add", "prod", "-b", "localhost:1"])
    capsys.readouterr()
    sentence = refused(capsys, "topics", "list")
    assert "nothing listens on localhost:1" in sentence
    assert "the address is that of context prod" in sentence
    assert "context" not in refused(capsys, "topics", "list", "-b", "localhost:2")


def test_secrets_are_kept_and_not_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["context", "add", "safe", "-b", "safe:1", "-X", "ssl.key.password=hunter2"])
    main(["context", "show", "safe"])
    assert "hunter2" not in capsys.readouterr().out
    assert "hunter2" in (home / "ottla" / "contexts.json").read_text()
    said = refused(capsys, "context", "add", "x", "-b", "x:1", "-X", "ssl.ca.location=ca.pem")
    assert "Kafka has ssl.truststore.type=PEM and ssl.truststore.location" in said
