"""Pure: names of fields, which with syntax V2 may be paths into structs and maps (KIP-821)."""

from __future__ import annotations

from typing import Any

from ottla.connect.data.schema import Schema, Struct, Type
from ottla.connect.errors import DataInvalid


def split_path(text: str) -> tuple[str, ...]:
    """Return the steps of a path; backticks enclose steps that hold dots."""
    steps, pos = [], 0
    while pos <= len(text):
        if text.startswith("`", pos):
            end = _closing(text, pos + 1)
            if end < 0:
                raise DataInvalid(
                    f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at"
                    f" position {pos} to escape it"
                )
            steps.append(text[pos + 1 : end].replace("\\`", "`"))
            pos = end + 2
        else:
            end = text.find(".", pos)
            end = len(text) if end < 0 else end
            steps.append(text[pos:end].replace("\\`", "`"))
            pos = end + 1
    return tuple(steps)


def _closing(text: str, start: int) -> int:
    pos = text.find("`", start)
    while pos > 0:
        is_end = pos + 1 == len(text) or text[pos + 1] == "."
        if text[pos - 1] != "\\" and is_end:
            return pos
        pos = text.find("`", pos + 1)
    return -1


def path_of(name: str, syntax: str) -> tuple[str, ...]:
    """Return the path that a setting names under a version of the syntax."""
    return split_path(name) if syntax.upper() == "V2" else (name,)


def look_up(value: Any, path: tuple[str, ...], *, defaults: bool = True) -> Any:
    """Return what lies at a path in structs and maps; null where a step is missing."""
    for step in path:
        if isinstance(value, Struct):
            if value.schema.field(step) is None:
                return None
            value = value[step] if defaults else value.raw(step)
        elif isinstance(value, dict):
            value = value.get(step)
        elif value is None:
            return None
        else:
            raise DataInvalid(
                f"Only Map objects supported in absence of schema for [nested field access], found:"
                f" {type(value).__name__}"
            )
    return value


def schema_at(schema: Schema, path: tuple[str, ...]) -> Schema | None:
    """Return the schema of what lies at a path; None if there is no such field."""
    current: Schema | None = schema
    for step in path:
        if current is None or current.type is not Type.STRUCT:
            return None
        field = current.field(step)
        current = None if field is None else field.schema
    return current
