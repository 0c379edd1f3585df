"""A line that a command does not take becomes one that it does."""

import pytest

from ottla.cli.kafka.habits import Habits
from ottla.cli.kafka.options import Command, Option, parse
from ottla.cli.kafka.repairs import repaired

COMMAND = Command(
    "kafka-example",
    "An example.",
    (
        Option("bootstrap-server", "Brokers.", "String"),
        Option("group", "A group.", "String"),
        Option("consumer-property", "(DEPRECATED) The same as --command-property.", "String"),
        Option("command-property", "A setting.", "String"),
        Option("list", "List."),
    ),
)


@pytest.mark.parametrize(
    ("typed", "better"),
    [
        ("--list --zookeeper zk1:2181,zk2:2181/kafka", "--list --bootstrap-server zk1:9092"),
        ("--zookeeper=zk1:2181 --list", "--bootstrap-server zk1:9092 --list"),
        ("--zookeeper z:1 --from-beginning --list", "--bootstrap-server z:9092 --list"),
        ("--zookeeper z:1 --new-thing value --list", "--bootstrap-server z:9092 --list"),
        ("--broker-list b:1 --lits", "--bootstrap-server b:1 --list"),
        ("--zookeeper z:1 --bootstrap-server b:1", "--bootstrap-server b:1"),
        ("--broker-list b:1 --producer-property acks=all", "--bootstrap-server b:1"),
        ("--group g --consumer-property a=b stray", "--group g --consumer-property a=b"),
        ("--groujp=g --list", "--group g --list"),
    ],
)
def test_what_is_typed_and_what_is_suggested(typed: str, better: str) -> None:
    words = repaired(COMMAND, typed.split())
    assert " ".join(words) == better
    habits = Habits(COMMAND, words)
    assert not parse(COMMAND, words, habits.find).words
    assert not habits.notes
