"""Expressions follow SQL with nulls, and Python otherwise; what does not fit is null."""

from dataclasses import dataclass
from typing import Any

import pytest

from ottla.streams import Windowed, f
from ottla.streams.expressions.build import Expression, tree_of
from ottla.streams.expressions.evaluate import evaluate

ORDER = {
    "amount": 120,
    "rate": 0.5,
    "name": "Ada",
    "items": ["pen", "ink"],
    "gone": None,
    "ok": True,
}


def value_of(expression: Expression, value: Any = ORDER, key: Any = "k") -> Any:
    roots = {"key": key, "value": value, "timestamp": 7, "headers": {"h": b"x"}, "topic": "orders"}
    return evaluate(tree_of(expression), roots)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f.value.amount > 100, True),
        (1 + f.value.amount, 121),
        (f.value.amount == 120.0, True),
        (f.value.missing > 100, None),
        (f.value.name > 100, None),
        (f.value.ok == 1, None),
        ((f.value.missing > 1) | (f.value.amount > 1), True),
        ((f.value.missing > 1) & (f.value.amount > 1), None),
        ((f.value.missing > 1) & (f.value.amount < 1), False),
        (~(f.value.amount > 100), False),
        (f.value.amount + 1, 121),
        (f.value.amount / 0, None),
        (f.value.amount / 8, 15.0),
        (-f.value.amount % 7, 6),
        (f.value.name + "!", "Ada!"),
        (f.value["items"][-1], "ink"),
        (f.value["items"][5], None),
        (f.length(f.value["items"]), 2),
        (f.is_null(f.value.gone), True),
        (f.coalesce(f.value.gone, f.value.name), "Ada"),
        (f.when(f.value.gone == 1, "yes", "no"), "no"),
        (f.split(f.lower("A b  C"), r"\s+"), ["a", "b", "c"]),
        (f.struct(name=f.upper(f.value.name), at=f.timestamp), {"name": "ADA", "at": 7}),
        (f.string(f.value.ok), "true"),
        (f.long("12"), 12),
        (f.long("twelve"), None),
        (f.double("1.5"), 1.5),
        (f.round(2.5), 3.0),
        (f.round(-2.5), -3.0),
        (f.floor(-1.5), -2),
        (f.substring("kafka", 1, 2), "af"),
        (f.matches(f.key, "^k$"), True),
        (f.headers.h, b"x"),
        (f.topic, "orders"),
        (f.concat(f.value.name, f.value.gone), None),
        (f.replace("a-b", "-", "+"), "a+b"),
    ],
)
def test_expressions(expression: Expression, expected: Any) -> None:
    result = value_of(expression)
    assert (result, type(result)) == (expected, type(expected))


def test_fields_of_dataclasses_and_window_keys() -> None:
    @dataclass
    class Point:
        x: int

    assert value_of(f.value.x + f.key.start_ms, Point(2), Windowed("a", 10, 20)) == 12


def test_what_python_would_run_at_once_is_refused() -> None:
    with pytest.raises(TypeError, match="an expression has no items yet"):
        list(f.value)
