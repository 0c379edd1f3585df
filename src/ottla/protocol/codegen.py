"""Pure: what the compilers of encoders and decoders share: a growing source and field sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ottla.protocol.schema import Field, Struct

FORMATS = {"boolean": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float64": "d"}
WIDTHS = {"boolean": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}
LONGEST_STRING = 0x7FFF
SHORT_RUN = 16
"""Arrays of integers below this length use structs made beforehand."""


class Source:
    """The source of one function of one message in one version."""

    def __init__(self, cls: type[Struct], version: int, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.constants: dict[str, Any] = {}
        self._lines: list[str] = []
        self._depth = 2
        self._names = 0

    def line(self, text: str) -> None:
        """Append a line at the current depth."""
        self._lines.append(" " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append `head` and indent what follows."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        """A local name nobody else uses."""
        self._names += 1
        return f"{prefix}{self._names}"

    def constant(self, value: Any, prefix: str) -> str:
        """A global name for `value`; the same value gets the same name."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = self.fresh(f"{prefix}_")
        self.constants[name] = value
        return name

    def compile(self, head: list[str], tail: list[str]) -> Callable[..., Any]:
        """The function that `head`, the lines so far and `tail` define."""
        text = "\n".join([*head, *self._lines, *tail])
        code = compile(text, f"<{self.cls.__name__} v{self.version}>", "exec")
        exec(code, self.constants)
        function: Callable[..., Any] = self.constants[head[0].split("(")[0].removeprefix("def ")]
        return function


def smallest_struct(cls: type[Struct], version: int, flexible: bool) -> int:
    """The least number of bytes that an instance takes on the wire."""
    size = 1 if flexible else 0
    for field in cls.fields:
        if field.exists(version) and field.tag is None:
            size += _smallest_field(field, version, flexible)
    return size


def smallest_element(field: Field, version: int, flexible: bool) -> int:
    """The least number of bytes that an element of an array takes: what bounds its count."""
    if field.struct is not None:
        return smallest_struct(field.struct, version, flexible)
    return _smallest_value(field.element, flexible)


def _smallest_field(field: Field, version: int, flexible: bool) -> int:
    if field.struct is not None and field.kind == "nested":
        if field.allows_null(version):
            return 1
        return smallest_struct(field.struct, version, flexible)
    return _smallest_value(field.kind, flexible)


def _smallest_value(kind: str, flexible: bool) -> int:
    if kind in WIDTHS:
        return WIDTHS[kind]
    if flexible:
        return 1
    return 2 if kind == "string" else 4


def holds_records(cls: type[Struct]) -> bool:
    """Whether record batches are anywhere inside."""
    return any(
        field.kind == "records" or (field.struct is not None and holds_records(field.struct))
        for field in cls.fields
    )
