"""What may follow on a command line; topics and groups are asked for in tests/compat."""

from pathlib import Path

import pytest

from ottla.cli.completing import candidates
from ottla.cli.main import main


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([""], "topics"),
        (["to"], "topics"),
        (["topics", "d"], "describe"),
        (["topics", "list", "--lo"], "--long"),
        (["topics", "list", "-o", "n"], "ndjson"),
        (["topics", "list", "-l", "-o", ""], "csv"),
        (["completion", ""], "zsh"),
        (["up", "--"], "--brokers"),
    ],
)
def test_commands_options_and_choices(words: list[str], found: str) -> None:
    assert found in candidates(words)


@pytest.mark.parametrize(
    "words", [["nonsense", ""], ["topics", "nonsense", ""], ["cluster", "id", ""], ["bench", "x"]]
)
def test_where_nothing_can_follow_nothing_is_offered(words: list[str]) -> None:
    assert candidates(words) == []


def test_a_broker_that_is_away_is_no_reason_to_complain() -> None:
    assert candidates(["topics", "describe", "-b", "localhost:1", ""]) == []
    assert candidates(["topics", "describe", "-b", "localhost", ":", "1", ""]) == []


def test_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    main(["context", "add", "prod", "-b", "prod:1"])
    assert candidates(["context", "use", ""]) == ["prod"]
    assert candidates(["topics", "list", "--context", "p"]) == ["prod"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_for_words(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "ottla completion words" in capsys.readouterr().out
