"""Pure: interprets expressions, for the test driver and for operators that run Python anyway."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ottla.streams.expressions.functions import FUNCTIONS
from ottla.streams.expressions.tree import Aggregation, Call, Constant, Field, Tree


def evaluate(tree: Tree, roots: Mapping[str, Any]) -> Any:
    """Return the value of an expression: `roots` holds `key`, `value` and so on. Aggregations are not in it."""
    if isinstance(tree, Constant):
        return tree.value
    if isinstance(tree, Field):
        return _walk(tree, roots)
    if isinstance(tree, Call):
        function = FUNCTIONS[tree.function]
        operands = [evaluate(operand, roots) for operand in tree.operands]
        if not function.takes_nulls and any(operand is None for operand in operands):
            return None
        return function.evaluate(*operands)
    if isinstance(tree, Aggregation):
        raise ValueError("an aggregation has no value for one record: use it in aggregate()")
    return {name: evaluate(part, roots) for name, part in tree.fields}


def _walk(field: Field, roots: Mapping[str, Any]) -> Any:
    value = roots.get(field.root)
    for name in field.path:
        value = step(value, name)
        if value is None:
            return None
    return value


def step(container: Any, name: object) -> Any:
    """Return a part of a value: of a mapping, a list, a dataclass, a window key or a message; None if missing."""
    if isinstance(container, Mapping):
        return container.get(name)
    if isinstance(container, list | tuple) and isinstance(name, int):
        return container[name] if -len(container) <= name < len(container) else None
    if not isinstance(name, str) or name.startswith("_"):
        return None
    if dataclasses.is_dataclass(container) or hasattr(type(container), "DESCRIPTOR"):
        return getattr(container, name, None)
    return None
