"""Options are read as Kafka's own tools read them."""

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from ottla.cli.kafka.options import Command, Given, Option, OptionError, UsageError, parse

COMMAND = Command(
    "kafka-example",
    "An example.",
    (
        Option("topic", "A topic.", "String: topic"),
        Option("config", "A setting.", "String: name=value"),
        Option("list", "List."),
        Option("state", "A state.", "String", value_may_be_missing=True),
        Option("time", "A time.", "String"),
        Option("partitions", "How many.", "Integer"),
    ),
)


def refuse(name: str) -> Option | None:
    raise OptionError(f"{name} is not a recognized option")


def read(*words: str) -> Given:
    return parse(COMMAND, words, refuse)


def test_a_value_follows_its_option_or_an_equals_sign() -> None:
    for words in (("--topic", "t"), ("--topic=t",), ("-topic", "t")):
        assert read(*words).value("topic") == "t"


def test_whatever_follows_an_option_with_a_value_is_the_value() -> None:
    assert read("--time", "-1").value("time") == "-1"
    assert read("--topic", "--list").value("topic") == "--list"


def test_an_equals_sign_in_a_value_belongs_to_it() -> None:
    assert read("--config=retention.ms=1").values("config") == ["retention.ms=1"]


def test_an_option_may_be_repeated_where_all_its_values_are_asked_for() -> None:
    given = read("--config", "a=1", "--config", "b=2")
    assert given.values("config") == ["a=1", "b=2"]
    with pytest.raises(OptionError, match="Found multiple arguments for option config"):
        given.value("config")


def test_a_value_that_may_be_missing_is_not_taken_from_the_next_option() -> None:
    assert read("--state", "--list").values("state") == []
    assert read("--state", "Stable").value("state") == "Stable"
    assert read("--list", "--state").has("state")


def test_words_that_belong_to_no_option_are_kept_apart() -> None:
    assert read("--list", "extra", "-", "-x").words == ["extra", "-", "-x"]
    assert read("--", "--list").words == ["--list"]


def test_names_are_not_abbreviated() -> None:
    with pytest.raises(OptionError, match=r"^top is not a recognized option$"):
        read("--top", "t")


def test_a_missing_value_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^Option topic requires an argument$"):
        read("--topic")


@pytest.mark.parametrize("text", ["abc", "", "1.5", "2147483648", " 1", "1_0"])
def test_what_is_no_number_is_refused_when_it_is_needed(text: str) -> None:
    given = read("--partitions", text)
    with pytest.raises(OptionError, match=r"Cannot parse argument .* of option partitions"):
        given.number("partitions")


def test_numbers_have_the_width_that_java_gives_them() -> None:
    assert read("--partitions", "-2147483648").number("partitions") == -(2**31)
    assert read("--partitions", "2147483648").long_number("partitions") == 2**31
    assert read().number("partitions") is None


def test_requirements_and_contradictions_are_told_with_the_help() -> None:
    with pytest.raises(UsageError, match=r'^Missing required argument "\[topic\]"$'):
        read("--list").require("topic")
    with pytest.raises(
        UsageError, match=r"^Option .\[topic\]. can't be used with option .\[list\]"
    ):
        read("--list", "--topic", "t").exclude("topic", ("time", "list"))
    read("--list").exclude("topic", ("list",))


@hypothesis_given(st.lists(st.text(max_size=12), max_size=8))
def test_no_line_makes_the_parser_stumble(words: list[str]) -> None:
    try:
        given = read(*words)
    except OptionError:
        return
    assert len(given.words) <= len(words)
