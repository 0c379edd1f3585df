"""Pure: what an operator calls for each record: a plain Python function, or an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from ottla.streams.expressions.tree import Aggregation, Call, Constant, Field, MakeStruct, Tree

Function = Callable[..., Any] | Tree
"""Functions are called with what their operator's docstring says. Expressions are evaluated with the record:
`f.key`, `f.value`, `f.timestamp`, `f.headers`, `f.topic`; in joiners also `f.left` and `f.right`."""


def is_expression(function: Function) -> TypeGuard[Tree]:
    """True if no Python is needed for each record."""
    return isinstance(function, Field | Constant | Call | MakeStruct | Aggregation)


def is_function(function: Function) -> TypeGuard[Callable[..., Any]]:
    """True if Python is called for each record."""
    return not is_expression(function)
