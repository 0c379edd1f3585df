"""The catalogue of commands and the files of commands tell the same story."""

from pathlib import Path

import pytest

from ottla.cli import commands
from ottla.cli.catalogue import ALONE, NOUNS, load
from ottla.cli.commands import broker, up
from ottla.cli.main import main
from ottla.cli.parsing import leaf_parser

FOLDER = Path(commands.__file__).parent
EVERY = [(name,) for name in ALONE] + [(name, verb) for name in NOUNS for verb in NOUNS[name].verbs]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_a_module_with_examples_of_itself(words: tuple[str, ...]) -> None:
    command = load(*words)
    assert f"ottla {' '.join(words)}" in command.EXAMPLES


@pytest.mark.parametrize("words", [(), *((noun,) for noun in NOUNS), *EVERY], ids=" ".join)
def test_every_help_has_examples(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert shown.startswith(f"usage: {' '.join(('ottla', *words))} ")
    assert "examples:\n" in shown


def test_every_module_of_a_command_is_in_the_catalogue() -> None:
    known = {load(*words).__name__ for words in EVERY}  # type: ignore[attr-defined]
    for path in FOLDER.rglob("*.py"):
        if path.stem != "__init__":
            parts = path.relative_to(FOLDER).with_suffix("").parts
            assert ".".join((commands.__name__, *parts)) in known


def test_commands_that_start_brokers_are_described_with_the_same_words() -> None:
    assert (ALONE["up"], ALONE["broker"]) == (up.SUMMARY, broker.SUMMARY)


SAY_NOTHING_TO_PROGRAMS = {
    ("up",),
    ("broker",),
    ("http",),
    ("completion",),
    ("connect", "start"),
    ("records", "export"),
    ("cluster", "migrate"),
    ("spark", "shell"),
}


@pytest.mark.parametrize("words", [each for each in EVERY if each not in SAY_NOTHING_TO_PROGRAMS])
def test_every_command_has_an_output_for_programs(words: tuple[str, ...]) -> None:
    name, *verb = words
    assert "--output" in leaf_parser(name, verb[0] if verb else None).format_help()
