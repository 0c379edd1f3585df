"""Pure: the type of an expression, and refusals of what a known type rules out: misspelt fields, bad operands."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ottla.streams.errors import TopologyError
from ottla.streams.expressions.functions import FUNCTIONS
from ottla.streams.expressions.tree import Aggregation, Call, Constant, Field, MakeStruct, Tree
from ottla.streams.types import (
    ANY,
    INT,
    LONG,
    NULL,
    NUMBERS,
    ListOf,
    MapOf,
    Struct,
    Type,
    described,
    of_annotation,
)


def type_of(tree: Tree, roots: Mapping[str, Type], operator: str) -> Type:
    """Return the expression's type; raise TopologyError, naming the operator, where known types rule it out."""
    if isinstance(tree, Constant):
        return of_annotation(type(tree.value))
    if isinstance(tree, Field):
        return _field(tree, roots, operator)
    if isinstance(tree, MakeStruct):
        fields = tuple((name, type_of(part, roots, operator)) for name, part in tree.fields)
        return Struct("struct", fields)
    if isinstance(tree, Aggregation):
        return _aggregation(tree, roots, operator)
    return _call(tree, roots, operator)


def _field(field: Field, roots: Mapping[str, Type], operator: str) -> Type:
    if field.root not in roots:
        there = ", ".join(f"f.{root}" for root in roots)
        raise TopologyError(f"{operator}: there is no f.{field.root} here; there are {there}")
    found, so_far = roots[field.root], f"f.{field.root}"
    for name in field.path:
        found = _step(found, name, so_far, operator)
        so_far += f"[{name}]" if isinstance(name, int) else f".{name}"
    return found


def _step(container: Type, name: str | int, so_far: str, operator: str) -> Type:
    if container in (ANY, NULL):
        return ANY
    if isinstance(container, ListOf) and isinstance(name, int):
        return container.item
    if isinstance(container, MapOf) and isinstance(name, str):
        return container.value
    if isinstance(container, Struct) and isinstance(name, str):
        found = container.field(name)
        if found is not None:
            return found
        close = difflib.get_close_matches(name, [known for known, _ in container.fields], 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise TopologyError(
            f"{operator}: {so_far} has no field {name}: it is {described(container)}.{hint}"
        )
    raise TopologyError(
        f"{operator}: {so_far} is of type {described(container)}, which has no part {name!r}"
    )


def _call(call: Call, roots: Mapping[str, Type], operator: str) -> Type:
    kinds = [type_of(operand, roots, operator) for operand in call.operands]
    function = FUNCTIONS[call.function]
    if call.function == "get":
        return _got(kinds[0], call.operands[1], operator)
    if any(kind in (ANY, NULL) for kind in kinds):
        return function.result
    result = function.typed(*kinds)
    if result is None:
        raise TopologyError(
            f"{operator}: {call.function} does not take operands of the types "
            f"{', '.join(str(kind) for kind in kinds)}; convert them with f.string, f.long, f.double or f.boolean"
        )
    return result


def _got(container: Type, key: Tree, operator: str) -> Type:
    if isinstance(key, Constant) and isinstance(key.value, str | int):
        return _step(container, key.value, "the value", operator)
    return container.item if isinstance(container, ListOf) else ANY


def _aggregation(tree: Aggregation, roots: Mapping[str, Type], operator: str) -> Type:
    operand = ANY if tree.operand is None else type_of(tree.operand, roots, operator)
    if tree.kind == "count":
        return LONG
    if tree.kind == "sum":
        if operand not in NUMBERS and operand != ANY:
            raise TopologyError(f"{operator}: f.sum takes numbers, but its operand is {operand}")
        return LONG if operand == INT else operand
    return operand
