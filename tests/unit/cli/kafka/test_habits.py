"""Old and misspelt options are understood, or answered with the line to type."""

import pytest

from ottla.cli.kafka.habits import Habits
from ottla.cli.kafka.options import Command, Failed, Given, Option, OptionError, parse

COMMAND = Command(
    "kafka-example",
    "An example.",
    (
        Option("bootstrap-server", "Brokers.", "String"),
        Option("group", "A group.", "String"),
        Option("include", "Topics.", "String"),
        Option("list", "List."),
    ),
)


def read(*words: str) -> tuple[Given, list[str]]:
    habits = Habits(COMMAND, words)
    return parse(COMMAND, words, habits.find), habits.notes


def test_a_former_name_is_taken_and_told() -> None:
    given, notes = read("--broker-list", "b:9092", "--list")
    assert given.value("bootstrap-server") == "b:9092"
    assert notes == ["--broker-list is taken as --bootstrap-server."]


def test_a_former_name_beside_the_new_one_is_ignored() -> None:
    given, notes = read("--bootstrap-server", "b:9092", "--broker-list", "c:9092", "--list")
    assert given.value("bootstrap-server") == "b:9092"
    assert notes == ["--broker-list is ignored, since --bootstrap-server is given."]
    assert given.has("list")


def test_what_is_no_longer_needed_is_ignored() -> None:
    given, [note] = read("--new-consumer", "--list")
    assert given.has("list")
    assert note.startswith("--new-consumer is no longer needed")


@pytest.mark.parametrize(
    "words", [("--zookeeper", "zk1:2181,zk2:2181/kafka"), ("--zookeeper=zk1:2181",)]
)
def test_zookeeper_is_answered_with_the_line_to_type(words: tuple[str, ...]) -> None:
    with pytest.raises(Failed) as refused:
        read(*words, "--list")
    assert str(refused.value).endswith("Try: kafka-example --bootstrap-server zk1:9092 --list")


def test_zookeeper_beside_a_broker_is_ignored() -> None:
    given, [note] = read("--zookeeper", "zk:2181", "--bootstrap-server", "b:9092", "--list")
    assert given.has("list")
    assert "ignored" in note


def test_a_misspelt_option_is_answered_with_the_line_to_type() -> None:
    with pytest.raises(OptionError) as refused:
        read("--list", "--groujp", "my group")
    assert str(refused.value) == (
        "groujp is not a recognized option; did you mean --group? "
        "Try: kafka-example --list --group 'my group'"
    )


def test_an_option_like_no_other_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^xyz is not a recognized option$"):
        read("--xyz")


def test_a_word_that_belongs_to_no_option_is_pointed_out() -> None:
    habits = Habits(COMMAND, ["list"])
    habits.leftover("list")
    habits.leftover("what")
    assert habits.notes == [
        "'list' belongs to no option and is ignored; did you mean --list?",
        "'what' belongs to no option and is ignored.",
    ]
