"""Pure: the tree of an expression: what the test driver interprets, and what is compiled to Spark's Columns.

Values and rules, the same in both:
- The values are Python's: None, bool, int, float, str, bytes, UUID, Decimal, date, datetime, list, dict.
- Null as in SQL: an operator with a null operand gives null, except `and`, `or` (of three values), `is_null`,
  `coalesce`, `if`, `struct`, `list` and `concat_ws`.
- Operands that do not fit (a string plus a number, a comparison of the two) give null, never an error, when
  the type is not known; with a known type they are refused when the topology is built.
- `bool` is no number. Numbers of different types compare by value. Division is that of floats; by zero it
  gives null. `%` has the sign of the divisor, as in Python.
- A `filter` passes a record only where its predicate is true; null is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Root = Literal["key", "value", "timestamp", "headers", "topic", "left", "right", "aggregate"]
"""What a field begins at. `left` and `right` exist in joiners alone; `timestamp` is in milliseconds;
`headers` is a mapping of names to bytes (the last header of a name counts)."""


@dataclass(frozen=True)
class Field:
    """A root, or what a path leads to from it: names into structs and mappings, numbers into lists.

    Null where a step is missing or its container is null; a negative number counts from the list's end.
    The key of a windowed table has `key`, `start_ms` and `end_ms`.
    """

    root: Root
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Constant:
    """A constant."""

    value: object


@dataclass(frozen=True)
class Call:
    """An operator or function by name, with its operands; `ottla.streams.expressions.functions` has the table."""

    function: str
    operands: tuple[Tree, ...]


@dataclass(frozen=True)
class MakeStruct:
    """A mapping of these names, in this order: a JSON object, a dict in Python."""

    fields: tuple[tuple[str, Tree], ...]


@dataclass(frozen=True)
class Aggregation:
    """What an aggregate does with the records of its key (and window): allowed as an aggregator only.

    `count` counts all records, or with an operand those where it is not null. `sum`, `min` and `max` ignore
    nulls and are null until there is something else; `first` and `last` take the operand of the first and the
    last record, by offset, null or not. `sum` of whole numbers is a whole number.
    """

    kind: Literal["count", "sum", "min", "max", "first", "last"]
    operand: Tree | None = None


Tree = Field | Constant | Call | MakeStruct | Aggregation


def children(tree: Tree) -> tuple[Tree, ...]:
    """Return the operands of a node."""
    if isinstance(tree, Call):
        return tree.operands
    if isinstance(tree, MakeStruct):
        return tuple(part for _, part in tree.fields)
    if isinstance(tree, Aggregation):
        return () if tree.operand is None else (tree.operand,)
    return ()


def fields_of(tree: Tree) -> tuple[Field, ...]:
    """Return every field that the tree reads, in order."""
    if isinstance(tree, Field):
        return (tree,)
    return tuple(field for child in children(tree) for field in fields_of(child))


def has_aggregation(tree: Tree) -> bool:
    """True if the tree is or contains an aggregation."""
    return isinstance(tree, Aggregation) or any(map(has_aggregation, children(tree)))
