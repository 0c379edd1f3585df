"""Pure: how expressions are written: `f.value.amount > 100`, `f.lower(f.value.name)`, `f.sum(f.value.amount)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ottla.streams.errors import TopologyError
from ottla.streams.expressions.tree import (
    Aggregation,
    Call,
    Constant,
    Field,
    MakeStruct,
    Root,
    Tree,
)


class Expression:
    """What `f.value` and so on are: attributes and items are fields, operators make larger expressions.

    Functions are found at `f`, so that no name of a field is taken.
    """

    __slots__ = ("_tree",)

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: object) -> Expression:
        if isinstance(self._tree, Field) and isinstance(name, str | int):
            return Expression(Field(self._tree.root, (*self._tree.path, name)))
        return _call("get", self, name)

    def __call__(self, *operands: object) -> Any:
        raise TopologyError(
            "an expression has no methods: functions are f's own, f.lower(f.value.name) for instance"
        )

    def __iter__(self) -> Any:
        raise TypeError("an expression has no items yet: use f.value[0], or a function")

    def __bool__(self) -> bool:
        raise TopologyError(
            "an expression is neither true nor false while the topology is built: "
            "write & | ~ for and, or, not (with brackets), and f.when(...) for if"
        )

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]  # builds a tree, as it must
        return _call("equal", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]  # as above
        return _call("not_equal", self, other)

    def __lt__(self, other: object) -> Expression:
        return _call("less", self, other)

    def __le__(self, other: object) -> Expression:
        return _call("less_or_equal", self, other)

    def __gt__(self, other: object) -> Expression:
        return _call("greater", self, other)

    def __ge__(self, other: object) -> Expression:
        return _call("greater_or_equal", self, other)

    def __and__(self, other: object) -> Expression:
        return _call("and", self, other)

    def __rand__(self, other: object) -> Expression:
        return _call("and", other, self)

    def __or__(self, other: object) -> Expression:
        return _call("or", self, other)

    def __ror__(self, other: object) -> Expression:
        return _call("or", other, self)

    def __invert__(self) -> Expression:
        return _call("not", self)

    def __add__(self, other: object) -> Expression:
        return _call("add", self, other)

    def __radd__(self, other: object) -> Expression:
        return _call("add", other, self)

    def __sub__(self, other: object) -> Expression:
        return _call("subtract", self, other)

    def __rsub__(self, other: object) -> Expression:
        return _call("subtract", other, self)

    def __mul__(self, other: object) -> Expression:
        return _call("multiply", self, other)

    def __rmul__(self, other: object) -> Expression:
        return _call("multiply", other, self)

    def __truediv__(self, other: object) -> Expression:
        return _call("divide", self, other)

    def __rtruediv__(self, other: object) -> Expression:
        return _call("divide", other, self)

    def __mod__(self, other: object) -> Expression:
        return _call("modulo", self, other)

    def __rmod__(self, other: object) -> Expression:
        return _call("modulo", other, self)

    def __neg__(self) -> Expression:
        return _call("negate", self)

    def __repr__(self) -> str:
        return f"Expression({self._tree!r})"


def tree_of(value: object) -> Tree:
    """Return the tree of an expression, a mapping or list of them, or a constant."""
    if isinstance(value, Expression):
        return value._tree
    if isinstance(value, Mapping):
        return MakeStruct(tuple((str(name), tree_of(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return Call("list", tuple(tree_of(part) for part in value))
    if callable(value):
        raise TopologyError(
            f"{value!r} is a function inside an expression; use f's functions, or a function for the whole"
        )
    return Constant(value)


def is_expression_like(value: object) -> bool:
    """True if `tree_of` makes an expression of it where a function could stand too."""
    return isinstance(value, Expression | Mapping)


def _call(function: str, *operands: object) -> Expression:
    return Expression(Call(function, tuple(tree_of(operand) for operand in operands)))


def _root(name: Root) -> Expression:
    return Expression(Field(name))


class Roots:
    """What `f` is: the parts of a record, and the functions."""

    key: Final = _root("key")
    value: Final = _root("value")
    timestamp: Final = _root("timestamp")
    headers: Final = _root("headers")
    topic: Final = _root("topic")
    left: Final = _root("left")
    right: Final = _root("right")

    def count(self, operand: object = None) -> Expression:
        """How many records there are; with an operand, for how many it is not null."""
        return Expression(Aggregation("count", None if operand is None else tree_of(operand)))

    def sum(self, operand: object) -> Expression:
        """The sum of the operand's values, null until there is one."""
        return Expression(Aggregation("sum", tree_of(operand)))

    def min(self, operand: object) -> Expression:
        """The least value."""
        return Expression(Aggregation("min", tree_of(operand)))

    def max(self, operand: object) -> Expression:
        """The greatest value."""
        return Expression(Aggregation("max", tree_of(operand)))

    def first(self, operand: object) -> Expression:
        """The value of the first record, by offset."""
        return Expression(Aggregation("first", tree_of(operand)))

    def last(self, operand: object) -> Expression:
        """The value of the last record, by offset."""
        return Expression(Aggregation("last", tree_of(operand)))

    def struct(self, **fields: object) -> Expression:
        """A JSON object of these fields."""
        return Expression(tree_of(fields))

    def list(self, *items: object) -> Expression:
        """A list of these items."""
        return _call("list", *items)

    def literal(self, value: object) -> Expression:
        """A constant, where a plain value would not be taken for an expression."""
        return Expression(Constant(value))

    def when(self, condition: object, then: object, otherwise: object = None) -> Expression:
        """`then` if the condition is true; `otherwise` if it is false or null."""
        return _call("if", condition, then, otherwise)

    def coalesce(self, *values: object) -> Expression:
        """The first value that is not null."""
        return _call("coalesce", *values)

    def is_null(self, value: object) -> Expression:
        """True if the value is null; a null never equals anything."""
        return _call("is_null", value)

    def lower(self, text: object) -> Expression:
        """The text in lower case."""
        return _call("lower", text)

    def upper(self, text: object) -> Expression:
        """The text in upper case."""
        return _call("upper", text)

    def trim(self, text: object) -> Expression:
        """The text without spaces at its ends."""
        return _call("trim", text)

    def length(self, value: object) -> Expression:
        """Characters of a text, bytes, or items of a list."""
        return _call("length", value)

    def substring(self, text: object, start: int, length: int | None = None) -> Expression:
        """The part that begins at an index, from 0."""
        return _call("substring", text, start, *(() if length is None else (length,)))

    def split(self, text: object, pattern: str) -> Expression:
        """The parts between matches of a regular expression, as a list."""
        return _call("split", text, pattern)

    def replace(self, text: object, old: object, new: object) -> Expression:
        """The text with every occurrence replaced."""
        return _call("replace", text, old, new)

    def contains(self, text: object, part: object) -> Expression:
        """True if the part is in the text."""
        return _call("contains", text, part)

    def starts_with(self, text: object, part: object) -> Expression:
        """True if the text begins so."""
        return _call("starts_with", text, part)

    def ends_with(self, text: object, part: object) -> Expression:
        """True if the text ends so."""
        return _call("ends_with", text, part)

    def matches(self, text: object, pattern: str) -> Expression:
        """True if a regular expression is found in the text."""
        return _call("matches", text, pattern)

    def concat(self, *texts: object) -> Expression:
        """The texts, one after the other; null if one is."""
        return _call("concat", *texts)

    def abs(self, number: object) -> Expression:
        """The number without its sign."""
        return _call("abs", number)

    def round(self, number: object, digits: int = 0) -> Expression:
        """Rounded, half away from zero."""
        return _call("round", number, digits)

    def floor(self, number: object) -> Expression:
        """The greatest whole number that is not greater."""
        return _call("floor", number)

    def ceil(self, number: object) -> Expression:
        """The least whole number that is not less."""
        return _call("ceil", number)

    def string(self, value: object) -> Expression:
        """A number, boolean, UUID or UTF-8 bytes as text."""
        return _call("string", value)

    def long(self, value: object) -> Expression:
        """A whole number of 64 bits; null if the value is none."""
        return _call("long", value)

    def double(self, value: object) -> Expression:
        """A floating point number; null if the value is none."""
        return _call("double", value)

    def boolean(self, value: object) -> Expression:
        """True or false; null if the value is neither."""
        return _call("boolean", value)


f: Final = Roots()
