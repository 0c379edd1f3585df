"""Which names a topic may have."""

import pytest

from ottla.controller.names import colliding, why_invalid


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "x" * 249, "__consumer_offsets", "...", "-"])
def test_names_that_kafka_takes_are_taken(name: str) -> None:
    assert why_invalid(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "must have a name"),
        (".", "cannot be named"),
        ("..", "cannot be named"),
        ("x" * 250, "at most 249"),
        ("../x", "characters other than"),
        ("a b", "characters other than"),
        ("a\n", "characters other than"),
        ("é", "characters other than"),
        ("٣", "characters other than"),
    ],
)
def test_names_that_kafka_refuses_are_refused(name: str, why: str) -> None:
    assert why in str(why_invalid(name))


def test_names_that_differ_in_dots_and_underscores_collide() -> None:
    assert colliding("a.b", ["x", "a_b"]) == "a_b"
    assert colliding("a_b.c", ["a.b_c"]) == "a.b_c"
    assert colliding("a.b", ["a.b", "a-b", "ab"]) is None
    assert colliding("ab", ["a.b"]) is None
