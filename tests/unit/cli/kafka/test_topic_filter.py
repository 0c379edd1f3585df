"""A name, several with commas, or patterns: what --topic means."""

import pytest

from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.topic_filter import matching

TOPICS = ["b", "a", "a.b", "axb", "orders"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, ["a", "a.b", "axb", "b", "orders"]),
        ("a", ["a"]),
        ("a.b", ["a.b", "axb"]),
        ("a, b", ["a", "b"]),
        ("'ord.*'", ["orders"]),
        ("nothing", []),
    ],
)
def test_whole_names_match(wanted: str | None, found: list[str]) -> None:
    assert matching(TOPICS, wanted) == found


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(Failed, match=r"^\(\( is an invalid regex.$"):
        matching(TOPICS, "((")
