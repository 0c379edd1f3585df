"""Pure: the table of functions that expressions call, with their rules for nulls and types.

A function that returns `None` for operands which do not fit gives null; see `expressions.tree` for the rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from ottla.streams import types
from ottla.streams.types import ANY, BOOLEAN, BYTES, DOUBLE, LONG, NUMBERS, STRING, ListOf, Type

TypeRule = Callable[..., "Type | None"]
"""Called with the operands' types, none of which is ANY or NULL; returns the result's, None if they do not fit."""


@dataclass(frozen=True)
class Function:
    """One row: what it does with values, what it makes of types."""

    evaluate: Callable[..., Any]
    typed: TypeRule
    result: Type = ANY
    """The result's type where an operand's is not known."""
    takes_nulls: bool = False
    """Called although operands are null; otherwise the result is null then."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _numbers(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def evaluate(left: object, right: object) -> Any:
        if not (_is_number(left) and _is_number(right)):
            return None
        if isinstance(left, Decimal) and isinstance(right, float):
            left = float(left)
        elif isinstance(left, float) and isinstance(right, Decimal):
            right = float(right)
        try:
            return operation(left, right)
        except (ArithmeticError, ValueError):
            return None

    return evaluate


def _add(left: object, right: object) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return _numbers(lambda one, other: one + other)(left, right)


def _divide(left: Any, right: Any) -> Any:
    return None if right == 0 else left / right


def _modulo(left: Any, right: Any) -> Any:
    return None if right == 0 else left - right * math.floor(left / right)


def _whole_modulo(left: Any, right: Any) -> Any:
    whole = isinstance(left, int) and isinstance(right, int)
    return (left % right if right else None) if whole else _modulo(left, right)


_ORDERED = (str, bytes, bool, UUID)


def _kind(value: object) -> object:
    if _is_number(value):
        return "number"
    if isinstance(value, datetime):
        return datetime
    if isinstance(value, date):
        return date
    return next((kind for kind in _ORDERED if isinstance(value, kind)), None)


def _compared(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    def evaluate(left: Any, right: Any) -> bool | None:
        kind = _kind(left)
        return operation(left, right) if kind is not None and kind == _kind(right) else None

    return evaluate


def _equal(left: Any, right: Any) -> bool | None:
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return bool(left == right) if type(left) is type(right) else None
    return _compared(lambda one, other: one == other)(left, right)


def _not_equal(left: Any, right: Any) -> bool | None:
    equal = _equal(left, right)
    return None if equal is None else not equal


def _and(left: Any, right: Any) -> bool | None:
    if left is False or right is False:
        return False
    return True if left is True and right is True else None


def _or(left: Any, right: Any) -> bool | None:
    if left is True or right is True:
        return True
    return False if left is False and right is False else None


def _on(kind: type | tuple[type, ...], operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation where its first operand is of this kind, null elsewhere."""

    def evaluate(first: Any, *others: Any) -> Any:
        return operation(first, *others) if isinstance(first, kind) else None

    return evaluate


def _strings(operation: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(*operands: Any) -> Any:
        return operation(*operands) if all(isinstance(each, str) for each in operands) else None

    return evaluate


def _number(operation: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(value: Any, *others: Any) -> Any:
        return operation(value, *others) if _is_number(value) else None

    return evaluate


def _to_string(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return str(value) if _is_number(value) or isinstance(value, str | UUID) else None


def _to_long(value: Any) -> int | None:
    try:
        whole = (
            int(value) if _is_number(value) or isinstance(value, bool) else int(value.strip(), 10)
        )
    except (AttributeError, ValueError, OverflowError):
        return None
    return whole if -(2**63) <= whole < 2**63 else None


def _to_double(value: Any) -> float | None:
    try:
        return float(value) if _is_number(value) or isinstance(value, bool | str) else None
    except (ValueError, OverflowError):
        return None


def _to_boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return bool(value) if _is_number(value) or isinstance(value, bool) else None


def _round(value: Any, digits: Any = 0) -> Any:
    """Half away from zero, as SQL does; Python's own rounds half to even."""
    if isinstance(value, int) and digits >= 0:
        return value
    exact = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), rounding="ROUND_HALF_UP")
    return int(exact) if isinstance(value, int) else type(value)(exact)


def _substring(text: str, start: int, length: int | None = None) -> str:
    return text[start:] if length is None else text[start : start + length]


def _get(container: Any, key: Any) -> Any:
    from ottla.streams.expressions.evaluate import step

    return step(container, key)


def _arithmetic(left: Type, right: Type) -> Type | None:
    if left not in NUMBERS or right not in NUMBERS:
        return None
    if DOUBLE in (left, right):
        return DOUBLE
    return types.DECIMAL if types.DECIMAL in (left, right) else LONG


def _added(left: Type, right: Type) -> Type | None:
    if left == right and (left == STRING or isinstance(left, ListOf)):
        return left
    return _arithmetic(left, right)


def _float_result(left: Type, right: Type) -> Type | None:
    return None if _arithmetic(left, right) is None else DOUBLE


def _comparable(left: Type, right: Type) -> Type | None:
    return BOOLEAN if left == right or (left in NUMBERS and right in NUMBERS) else None


def _takes(*kinds: Type, result: Type) -> TypeRule:
    """Operands of exactly these types; the last one may be missing if it is a number."""

    def typed(*operands: Type) -> Type | None:
        fits = all(
            operand == kind or (operand in NUMBERS and kind in NUMBERS)
            for operand, kind in zip(operands, kinds, strict=False)
        )
        return result if fits and len(operands) <= len(kinds) else None

    return typed


def _same_number(*operands: Type) -> Type | None:
    return operands[0] if operands[0] in NUMBERS else None


def _common(*operands: Type) -> Type:
    return operands[0] if len(set(operands)) == 1 else ANY


def _anything(result: Type) -> TypeRule:
    return lambda *operands: result


def _length_type(operand: Type) -> Type | None:
    sized = operand in (STRING, BYTES) or isinstance(operand, ListOf | types.MapOf)
    return LONG if sized else None


FUNCTIONS: Mapping[str, Function] = {
    "add": Function(_add, _added),
    "subtract": Function(_numbers(lambda left, right: left - right), _arithmetic),
    "multiply": Function(_numbers(lambda left, right: left * right), _arithmetic),
    "divide": Function(_numbers(_divide), _float_result, DOUBLE),
    "modulo": Function(_numbers(_whole_modulo), _arithmetic),
    "negate": Function(_number(lambda value: -value), _same_number),
    "equal": Function(_equal, _comparable, BOOLEAN),
    "not_equal": Function(_not_equal, _comparable, BOOLEAN),
    "less": Function(_compared(lambda left, right: left < right), _comparable, BOOLEAN),
    "less_or_equal": Function(_compared(lambda left, right: left <= right), _comparable, BOOLEAN),
    "greater": Function(_compared(lambda left, right: left > right), _comparable, BOOLEAN),
    "greater_or_equal": Function(
        _compared(lambda left, right: left >= right), _comparable, BOOLEAN
    ),
    "and": Function(_and, _takes(BOOLEAN, BOOLEAN, result=BOOLEAN), BOOLEAN, takes_nulls=True),
    "or": Function(_or, _takes(BOOLEAN, BOOLEAN, result=BOOLEAN), BOOLEAN, takes_nulls=True),
    "not": Function(_on(bool, lambda value: not value), _takes(BOOLEAN, result=BOOLEAN), BOOLEAN),
    "is_null": Function(lambda value: value is None, _anything(BOOLEAN), BOOLEAN, takes_nulls=True),
    "coalesce": Function(
        lambda *values: next((value for value in values if value is not None), None),
        _common,
        takes_nulls=True,
    ),
    "if": Function(
        lambda condition, then, other: then if condition is True else other,
        lambda condition, then, other: _common(then, other) if condition == BOOLEAN else None,
        takes_nulls=True,
    ),
    "list": Function(
        lambda *values: list(values), lambda *kinds: ListOf(_common(*kinds)), takes_nulls=True
    ),
    "get": Function(_get, _anything(ANY)),
    "lower": Function(_strings(str.lower), _takes(STRING, result=STRING), STRING),
    "upper": Function(_strings(str.upper), _takes(STRING, result=STRING), STRING),
    "trim": Function(_strings(lambda text: text.strip(" ")), _takes(STRING, result=STRING), STRING),
    "length": Function(_on((str, bytes, list, dict), len), _length_type, LONG),
    "substring": Function(_on(str, _substring), _takes(STRING, LONG, LONG, result=STRING), STRING),
    "split": Function(
        _strings(lambda text, pattern: re.split(pattern, text)),
        _takes(STRING, STRING, result=ListOf(STRING)),
        ListOf(STRING),
    ),
    "replace": Function(
        _strings(lambda text, old, new: text.replace(old, new)),
        _takes(STRING, STRING, STRING, result=STRING),
        STRING,
    ),
    "contains": Function(
        _strings(lambda text, part: part in text), _takes(STRING, STRING, result=BOOLEAN), BOOLEAN
    ),
    "starts_with": Function(
        _strings(lambda text, part: text.startswith(part)),
        _takes(STRING, STRING, result=BOOLEAN),
        BOOLEAN,
    ),
    "ends_with": Function(
        _strings(lambda text, part: text.endswith(part)),
        _takes(STRING, STRING, result=BOOLEAN),
        BOOLEAN,
    ),
    "matches": Function(
        _strings(lambda text, pattern: re.search(pattern, text) is not None),
        _takes(STRING, STRING, result=BOOLEAN),
        BOOLEAN,
    ),
    "concat": Function(
        _strings(lambda *texts: "".join(texts)),
        lambda *kinds: STRING if set(kinds) <= {STRING} else None,
        STRING,
    ),
    "abs": Function(_number(abs), _same_number),
    "round": Function(_number(_round), _same_number),
    "floor": Function(_number(math.floor), _takes(LONG, result=LONG), LONG),
    "ceil": Function(_number(math.ceil), _takes(LONG, result=LONG), LONG),
    "string": Function(_to_string, _anything(STRING), STRING),
    "long": Function(_to_long, _anything(LONG), LONG),
    "double": Function(_to_double, _anything(DOUBLE), DOUBLE),
    "boolean": Function(_to_boolean, _anything(BOOLEAN), BOOLEAN),
}
