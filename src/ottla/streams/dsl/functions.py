"""Pure: what a user gives an operator to call: checked when the topology is built."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ottla.streams.errors import TopologyError
from ottla.streams.expressions.build import is_expression_like, tree_of
from ottla.streams.expressions.tree import has_aggregation
from ottla.streams.expressions.typing import type_of
from ottla.streams.topology.functions import Function
from ottla.streams.topology.node import Node
from ottla.streams.types import ANY, BOOLEAN, BYTES, LONG, STRING, MapOf, Type, of_annotation


def record_roots(node: Node) -> dict[str, Type]:
    """The types of what an expression may read of the records that a node hands on."""
    return {
        "key": node.key_type,
        "value": node.value_type,
        "timestamp": LONG,
        "headers": MapOf(BYTES),
        "topic": STRING,
    }


def checked(
    given: object,
    arguments: str,
    roots: Mapping[str, Type],
    operator: str,
    aggregates: bool = False,
) -> tuple[Function, Type]:
    """Return a function or the tree of an expression, and its result's type.

    `arguments` names what a function is called with: "key, value".
    """
    if is_expression_like(given):
        tree = tree_of(given)
        if has_aggregation(tree) and not aggregates:
            raise TopologyError(
                f"{operator}: f.count, f.sum, f.min, f.max, f.first and f.last are for aggregate(); "
                "there is one record here, nothing to aggregate"
            )
        return tree, type_of(tree, roots, operator)
    if not callable(given):
        raise TopologyError(
            f"{operator}: takes a function of ({arguments}) or an expression of f, not {given!r}"
        )
    check_arguments(given, arguments, operator)
    return given, _returned(given)


def predicate(given: object, node: Node, operator: str) -> Function:
    """As `checked`, for something that must be true or false."""
    function, result = checked(given, "key, value", record_roots(node), operator)
    if is_expression_like(given) and result not in (ANY, BOOLEAN):
        raise TopologyError(
            f"{operator}: the predicate is a {result}, but must be true or false: compare it with something"
        )
    return function


def check_arguments(function: Callable[..., Any], arguments: str, operator: str) -> None:
    """Raise TopologyError if the function cannot be called with that many arguments."""
    names = [name for name in arguments.split(", ") if name]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError:
        called = getattr(function, "__name__", repr(function))
        raise TopologyError(
            f"{operator}: is called with ({arguments}), but {called} takes {signature}"
        ) from None


def _returned(function: Callable[..., Any]) -> Type:
    try:
        hint = typing.get_type_hints(function).get("return", Any)
    except (TypeError, NameError):
        return ANY
    return ANY if hint is type(None) else of_annotation(hint)


def pair(
    given: object, node: Node, operator: str
) -> tuple[Function | tuple[Function, Function], Type, Type]:
    """A function (key, value) that returns a pair, or a pair of expressions; and the types of both."""
    if isinstance(given, tuple | list) and len(given) == 2:
        roots = record_roots(node)
        key, value = (tree_of(part) for part in given)
        return (key, value), type_of(key, roots, operator), type_of(value, roots, operator)
    if is_expression_like(given):
        raise TopologyError(f"{operator}: takes a pair of expressions: (f.value.id, f.value)")
    function, _ = checked(given, "key, value", record_roots(node), operator)
    return function, *_pair_types(given)


def _pair_types(function: object) -> tuple[Type, Type]:
    try:
        hint = typing.get_type_hints(function).get("return")
    except (TypeError, NameError):
        return ANY, ANY
    parts = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and len(parts) == 2:
        return of_annotation(parts[0]), of_annotation(parts[1])
    return ANY, ANY
