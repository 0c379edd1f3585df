"""Settings are parsed, and what is wrong with them is said in Kafka's words."""

import pytest

from ottla.connect.errors import ConfigInvalid
from ottla.connect.options.table import (
    HIDDEN,
    Kind,
    Option,
    Options,
    at_least,
    non_empty,
    one_of,
    render,
)

TABLE = Options(
    (
        Option(name="topic", kind=Kind.STRING, doc="", check=non_empty),
        Option(name="tasks.max", kind=Kind.INT, default=1, doc="", check=at_least(1)),
        Option(
            name="mode",
            kind=Kind.STRING,
            default="bulk",
            doc="",
            check=one_of("bulk", "incrementing"),
        ),
        Option(name="names", kind=Kind.LIST, default=[], doc=""),
        Option(name="fast", kind=Kind.BOOLEAN, default=False, doc=""),
        Option(name="password", kind=Kind.PASSWORD, default=None, doc=""),
    )
)


def test_texts_become_values_and_what_is_missing_its_default() -> None:
    found = TABLE.parse({"topic": " t ", "names": "a, b", "fast": "TRUE", "password": " p "})
    assert found == {
        "topic": "t",
        "tasks.max": 1,
        "mode": "bulk",
        "names": ["a", "b"],
        "fast": True,
        "password": " p ",
    }


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, 'Missing required configuration "topic" which has no default value.'),
        ({"topic": ""}, "Invalid value  for configuration topic: String must be non-empty"),
        (
            {"topic": "t", "tasks.max": "many"},
            "Invalid value many for configuration tasks.max: Not a number of type INT",
        ),
        (
            {"topic": "t", "tasks.max": "0"},
            "Invalid value 0 for configuration tasks.max: Value must be at least 1",
        ),
        (
            {"topic": "t", "mode": "all"},
            "Invalid value all for configuration mode: String must be one of: bulk, incrementing",
        ),
        (
            {"topic": "t", "fast": "yes"},
            "Invalid value yes for configuration fast: Expected value to be either true or false",
        ),
    ],
)
def test_what_is_wrong_is_said_as_kafka_says_it(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        TABLE.parse(given)
    assert [text for texts in raised.value.problems.values() for text in texts] == [sentence]


def test_passwords_are_never_shown() -> None:
    assert render(TABLE.by_name["password"], "secret") == HIDDEN
