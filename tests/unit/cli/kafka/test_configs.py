"""How kafka-configs reads settings."""

import pytest

from ottla.cli.kafka.configs import parse_added
from ottla.cli.kafka.options import Failed
from tests.golden.transcript import run


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (None, {}),
        ("a=1", {"a": "1"}),
        ("a=1, b = 2", {"a": "1", "b": "2"}),
        ("cleanup.policy=[compact,delete],a=1", {"cleanup.policy": "compact,delete", "a": "1"}),
        (
            "SCRAM-SHA-256=[iterations=8192,password=p]",
            {"SCRAM-SHA-256": "iterations=8192,password=p"},
        ),
        ("a=", {"a": ""}),
    ],
)
def test_settings_with_and_without_brackets(text: str | None, settings: dict[str, str]) -> None:
    assert parse_added(text) == settings


@pytest.mark.parametrize("text", ["a", "a=1,b", "a=1=2"])
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(Failed, match="all configs to be added must be in the format"):
        parse_added(text)


CONTRADICTIONS = {
    "two ways to name it": (
        ("--topic", "t", "--entity-type", "users", "--describe"),
        "Only 'users' and 'clients' entity types may be specified together",
    ),
    "both sources": (
        ("--alter", "--topic", "t", "--add-config", "a=1", "--add-config-file", "f"),
        "Only one of --add-config or --add-config-file must be specified",
    ),
    "no such entity": (
        ("--alter", "--entity-type", "clients", "--add-config", "a=1"),
        "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips",
    ),
    "controllers": (
        ("--describe", "--topic", "t", "--bootstrap-controller", "c:1"),
        "--bootstrap-controller: brokers answer for everything; use --bootstrap-server",
    ),
}


@pytest.mark.parametrize(("words", "why"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradictions_are_refused_before_a_broker_is_asked(
    words: tuple[str, ...], why: str
) -> None:
    done = run("kafka-configs", "--bootstrap-server", "127.0.0.1:1", *words)
    assert (done.stdout, done.stderr, done.code) == ("", f"{why}\n", 1)
