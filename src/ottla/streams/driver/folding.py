"""Pure: how aggregates fold, merge and take back: for functions and for expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ottla.streams.driver.state import Entry
from ottla.streams.expressions.evaluate import evaluate
from ottla.streams.expressions.functions import FUNCTIONS
from ottla.streams.expressions.tree import (
    Aggregation,
    Call,
    Constant,
    MakeStruct,
    Tree,
    children,
    has_aggregation,
)
from ottla.streams.topology.aggregations import AggregateKind
from ottla.streams.topology.functions import Function, is_expression, is_function

Roots = Mapping[str, Any]


class Folding:
    """An aggregate as steps on an `Entry`'s value: the expression's accumulators live in its state."""

    def __init__(
        self,
        kind: AggregateKind,
        initializer: Callable[[], Any] | None,
        aggregator: Function | None,
        merger: Callable[[Any, Any, Any], Any] | None = None,
        subtractor: Function | None = None,
    ) -> None:
        self.kind = kind
        self.initializer = initializer
        self.aggregator = aggregator
        self.merger = merger
        self.subtractor = subtractor
        self.tree: Tree | None = None
        if aggregator is not None and is_expression(aggregator):
            self.tree = aggregator

    def initial(self) -> Entry:
        """The aggregate of no records."""
        if self.tree is not None:
            state = [_initial(each) for each in _aggregations(self.tree)]
            return Entry(None, -1, state)
        if self.kind == "count":
            return Entry(0, -1)
        return Entry(None if self.initializer is None else self.initializer(), -1)

    def added(self, entry: Entry, roots: Roots, timestamp_ms: int) -> Entry:
        """The aggregate with one more record."""
        return self._stepped(entry, self.aggregator, roots, timestamp_ms, 1)

    def subtracted(self, entry: Entry, roots: Roots, timestamp_ms: int) -> Entry:
        """The aggregate without a record that was in it."""
        return self._stepped(entry, self.subtractor, roots, timestamp_ms, -1)

    def _stepped(
        self, entry: Entry, function: Function | None, roots: Roots, timestamp_ms: int, sign: int
    ) -> Entry:
        if self.tree is not None:
            state = [
                _accumulated(each, accumulator, roots, sign)
                for each, accumulator in zip(_aggregations(self.tree), entry.state, strict=True)
            ]
            return Entry(_finished(self.tree, iter(state), roots), timestamp_ms, state)
        if self.kind == "count":
            return Entry(entry.value + sign, timestamp_ms)
        assert function is not None
        assert is_function(function)
        if self.kind == "aggregate":
            value = function(roots["key"], roots["value"], entry.value)
        elif entry.value is None:
            value = roots["value"]
        else:
            value = function(entry.value, roots["value"])
        return Entry(value, timestamp_ms)

    def merged(self, key: Any, left: Entry, right: Entry) -> Entry:
        """Two sessions' aggregates as one; `left` is `initial()` or older."""
        if self.tree is not None:
            state = [
                _merged(each, one, other)
                for each, one, other in zip(
                    _aggregations(self.tree), left.state, right.state, strict=True
                )
            ]
            return Entry(_finished(self.tree, iter(state), {"key": key}), right.timestamp_ms, state)
        if self.kind == "count":
            return Entry(left.value + right.value, right.timestamp_ms)
        if self.merger is not None:
            return Entry(self.merger(key, left.value, right.value), right.timestamp_ms)
        if left.value is None:
            return right
        assert self.aggregator is not None
        assert is_function(self.aggregator)
        return Entry(self.aggregator(left.value, right.value), right.timestamp_ms)


def _aggregations(tree: Tree) -> Iterator[Aggregation]:
    if isinstance(tree, Aggregation):
        yield tree
    else:
        for child in children(tree):
            yield from _aggregations(child)


def _initial(aggregation: Aggregation) -> Any:
    return 0 if aggregation.kind == "count" else () if aggregation.kind != "sum" else (None, 0)


def _accumulated(aggregation: Aggregation, accumulator: Any, roots: Roots, sign: int) -> Any:
    """One record more or less. Sums know how many values they have: none is null, not 0."""
    operand = None if aggregation.operand is None else evaluate(aggregation.operand, roots)
    if aggregation.kind == "count":
        counts = aggregation.operand is None or operand is not None
        return accumulator + sign if counts else accumulator
    if aggregation.kind == "first":
        return accumulator or (operand,)
    if aggregation.kind == "last":
        return (operand,)
    if operand is None:
        return accumulator
    if aggregation.kind == "sum":
        return _summed(accumulator, operand, sign)
    return _extreme(aggregation.kind, accumulator, (operand,))


def _summed(accumulator: tuple[Any, int], operand: Any, sign: int) -> tuple[Any, int]:
    total, values = accumulator
    if isinstance(operand, bool) or not hasattr(operand, "__float__"):
        return accumulator
    if values + sign == 0:
        return (None, 0)
    step = operand if sign > 0 else -operand
    return (step if total is None else total + step, values + sign)


def _extreme(kind: str, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    if not left or not right:
        return left or right
    less = FUNCTIONS["less"].evaluate(right[0], left[0])
    if less is None:
        return left
    takes_right = less if kind == "min" else not less
    return right if takes_right else left


def _merged(aggregation: Aggregation, left: Any, right: Any) -> Any:
    if aggregation.kind == "count":
        return left + right
    if aggregation.kind == "sum":
        if left[0] is None or right[0] is None:
            return right if left[0] is None else left
        return (left[0] + right[0], left[1] + right[1])
    if aggregation.kind in ("first", "last"):
        return (left or right) if aggregation.kind == "first" else (right or left)
    return _extreme(aggregation.kind, left, right)


def _finished(tree: Tree, state: Iterator[Any], roots: Roots) -> Any:
    """The expression's value: aggregations replaced by what they have come to."""
    return evaluate(_replaced(tree, state), roots)


def _replaced(tree: Tree, state: Iterator[Any]) -> Tree:
    if isinstance(tree, Aggregation):
        accumulator = next(state)
        if isinstance(accumulator, tuple):
            return Constant(accumulator[0] if accumulator else None)
        return Constant(accumulator)
    if not has_aggregation(tree):
        return tree
    if isinstance(tree, MakeStruct):
        return MakeStruct(tuple((name, _replaced(part, state)) for name, part in tree.fields))
    if isinstance(tree, Call):
        return Call(tree.function, tuple(_replaced(part, state) for part in tree.operands))
    return tree
