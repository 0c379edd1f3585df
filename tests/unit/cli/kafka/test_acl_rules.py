"""From the options of kafka-acls to rules."""

import pytest

from ottla.cli.kafka.acl_rules import rules
from ottla.cli.kafka.acls import COMMAND
from ottla.cli.kafka.options import Given, Option, UsageError, parse


def given(*words: str) -> Given:
    def refuse(name: str) -> Option | None:
        raise AssertionError(name)

    return parse(COMMAND, words, refuse)


def spelled_out(*words: str) -> dict[str, list[str]]:
    made = rules(given("--add", *words))
    return {
        f"{resource.type.name} {resource.name} {resource.pattern.name}": [
            f"{e.permission.name} {e.principal} {e.host} {e.operation.name}" for e in entries
        ]
        for resource, entries in made.items()
    }


def test_each_principal_host_and_operation_is_a_rule() -> None:
    words = ("--topic", "t", "--allow-principal", "User:a", "--allow-principal", "User:b")
    more = ("--allow-host", "1.1.1.1", "--operation", "Read", "--operation", "DescribeConfigs")
    assert spelled_out(*words, *more) == {
        "TOPIC t LITERAL": [
            "ALLOW User:a 1.1.1.1 READ",
            "ALLOW User:a 1.1.1.1 DESCRIBE_CONFIGS",
            "ALLOW User:b 1.1.1.1 READ",
            "ALLOW User:b 1.1.1.1 DESCRIBE_CONFIGS",
        ]
    }


def test_a_producer_may_write_describe_and_create() -> None:
    words = ("--topic", "t", "--transactional-id", "x", "--allow-principal", "User:a")
    assert spelled_out(*words, "--producer", "--idempotent") == {
        "TOPIC t LITERAL": [f"ALLOW User:a * {o}" for o in ("WRITE", "DESCRIBE", "CREATE")],
        "TRANSACTIONAL_ID x LITERAL": [f"ALLOW User:a * {o}" for o in ("WRITE", "DESCRIBE")],
        "CLUSTER kafka-cluster LITERAL": ["ALLOW User:a * IDEMPOTENT_WRITE"],
    }


def test_a_consumer_may_read_the_topic_and_its_group() -> None:
    words = ("--topic", "t", "--group", "g", "--allow-principal", "User:a", "--consumer")
    assert spelled_out(*words, "--resource-pattern-type", "prefixed") == {
        "TOPIC t PREFIXED": ["ALLOW User:a * READ", "ALLOW User:a * DESCRIBE"],
        "GROUP g PREFIXED": ["ALLOW User:a * READ"],
    }


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--topic", "t", "--operation", "Nonsense"), "ResourceType TOPIC only supports"),
        (("--group", "g", "--operation", "Write"), "ResourceType GROUP only supports"),
        (("--operation", "Read"), "You must provide at least one resource"),
        (("--topic", "t", "--resource-pattern-type", "glob"), "Unknown resource-pattern-type"),
    ],
)
def test_rules_that_cannot_be_are_refused(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        rules(given("--add", "--allow-principal", "User:a", *words))
