"""Columns as Kafka's tools align them."""

from ottla.cli.kafka.tables import lines


def test_columns_grow_with_their_longest_cell() -> None:
    table = lines((5, 0), [("NAME", "X"), ("a-longer-name", 1)])
    assert table == ["NAME          X", "a-longer-name 1"]


def test_a_negative_width_stays_as_it_is() -> None:
    assert lines((-3, -3), [("abcdef", "b"), (None, "c")]) == ["abcdef b  ", "-   c  "]
