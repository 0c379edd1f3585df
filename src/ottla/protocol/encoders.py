"""Pure: compiles a message and a version into one flat function that writes it, and keeps it.

Neighbours of fixed width are packed in one call, together with the length of what follows them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from ottla.protocol.codegen import FORMATS, LONGEST_STRING, SHORT_RUN, Source
from ottla.protocol.schema import Field, Struct, default_source
from ottla.protocol.varint import write_unsigned_varint


@cache
def encoder(cls: type[Struct], version: int, flexible: bool) -> Callable[[Any, bytearray], None]:
    """The function that appends a message to a bytearray, or says by ValueError why it cannot."""
    source = _EncoderSource(cls, version, flexible)
    source.struct(cls, "message")
    source.flush()
    tail = [
        " except (struct_error, AttributeError, TypeError) as error:",
        "  raise unwritable(error) from error",
    ]
    source.constants.update(_helpers(f"{cls.__name__} v{version}"))
    return source.compile(["def encode(message, out):", " try:", "  pass"], tail)


def _helpers(what: str) -> dict[str, Any]:
    def unwritable(error: Exception) -> ValueError:
        return ValueError(f"{what} cannot be encoded: {error}")

    return {
        "pack": struct.pack,
        "struct_error": struct.error,
        "unwritable": unwritable,
        "write_long_string_length": _write_long_string_length,
        "write_unsigned_varint": write_unsigned_varint,
    }


def _write_long_string_length(out: bytearray, length: int) -> None:
    if length > LONGEST_STRING + 1:
        raise ValueError(f"a string of {length - 1} bytes is longer than {LONGEST_STRING}")
    write_unsigned_varint(out, length)


class _EncoderSource(Source):
    """Collects writes; those of fixed width wait in a run until one of unknown width follows."""

    def __init__(self, cls: type[Struct], version: int, flexible: bool) -> None:
        super().__init__(cls, version, flexible)
        self._run: list[tuple[str, str]] = []

    def struct(self, cls: type[Struct], value: str) -> None:
        """Write the structure in the local variable `value`."""
        fields = [field for field in cls.fields if field.exists(self.version)]
        for field in fields:
            if field.tag is None:
                self._field(field, f"{value}.{field.name}")
        if self.flexible:
            tagged = [field for field in fields if field.tag is not None]
            if tagged:
                self._tagged_fields(sorted(tagged, key=lambda field: field.tag or 0), value)
            else:
                self._run.append(("x", ""))

    def flush(self) -> None:
        """Write the waiting values of fixed width."""
        if self._run:
            self.line(self._packed(self._run))
            self._run = []

    def _packed(self, run: list[tuple[str, str]]) -> str:
        formats = "".join(form for form, _ in run)
        if formats == "x":
            return "out.append(0)"
        pack = self.constant(_packer(formats), "pack")
        return f"out += {pack}({', '.join(value for _, value in run if value)})"

    def _field(self, field: Field, value: str) -> None:
        nullable = field.allows_null(self.version)
        if field.kind == "array":
            self._array(field, value, nullable)
        elif field.struct is not None:
            self._nested(field.struct, value, nullable)
        else:
            self._value(field.kind, value, nullable)

    def _value(self, kind: str, value: str, nullable: bool = False) -> None:
        if kind in FORMATS:
            self._run.append((FORMATS[kind], value))
        elif kind == "uuid":
            self._run.append(("16s", f"{value}.bytes"))
        else:
            self._sized(kind, value, nullable)

    def _sized(self, kind: str, value: str, nullable: bool) -> None:
        piece, length = self.fresh("piece"), self.fresh("n")
        encoded = f"{value}.encode()" if kind == "string" else value
        if nullable:
            self.line(f"{piece} = b'' if {value} is None else {encoded}")
            self.line(f"{length} = -1 if {value} is None else len({piece})")
        else:
            self.line(f"{piece} = {encoded}")
            self.line(f"{length} = len({piece})")
        self._length(length, "h" if kind == "string" else "i")
        self.line(f"out += {piece}")

    def _length(self, length: str, legacy_format: str) -> None:
        """Write the length or count in the local variable `length`, -1 for null."""
        if not self.flexible:
            self._run.append((legacy_format, length))
            self.flush()
            return
        long = "write_long_string_length" if legacy_format == "h" else "write_unsigned_varint"
        short_run = [*self._run, ("B", f"{length} + 1")]
        with self.block(f"if {length} < 127:"):
            self.line(self._packed(short_run) if self._run else f"out.append({length} + 1)")
        with self.block("else:"):
            self.flush()
            self.line(f"{long}(out, {length} + 1)")

    def _nested(self, cls: type[Struct], value: str, nullable: bool) -> None:
        inner = self.fresh("value")
        self.line(f"{inner} = {value}")
        if not nullable:
            self.struct(cls, inner)
            return
        self._run.append(("b", f"-1 if {inner} is None else 1"))
        self.flush()
        with self.block(f"if {inner} is not None:"):
            self.struct(cls, inner)
            self.flush()

    def _array(self, field: Field, value: str, nullable: bool) -> None:
        items, count = self.fresh("items"), self.fresh("n")
        self.line(f"{items} = {value}")
        if nullable:
            self.line(f"{count} = -1 if {items} is None else len({items})")
            self.line(f"if {items} is None: {items} = ()")
        else:
            self.line(f"{count} = len({items})")
        if field.element in FORMATS:
            self._numbers(FORMATS[field.element], items, count)
            return
        self._length(count, "i")
        element = self.fresh("element")
        with self.block(f"for {element} in {items}:"):
            if field.struct is not None:
                self.struct(field.struct, element)
            else:
                self._value(field.element, element)
            self.flush()

    def _numbers(self, form: str, items: str, count: str) -> None:
        """Count and numbers together, with a struct made beforehand where the array is short."""
        self.flush()
        prefix, extra = ("B", " + 1") if self.flexible else ("i", "")
        runs = self.constant(_short_runs(prefix, form), "runs")
        with self.block(f"if 0 <= {count} < {SHORT_RUN}:"):
            self.line(f"out += {runs}[{count}]({count}{extra}, *{items})")
        with self.block("else:"):
            self._length(count, "i")
            self.line(f"out += pack('>%d{form}' % len({items}), *{items})")

    def _tagged_fields(self, tagged: list[Field], value: str) -> None:
        """Tagged fields in the order of tags, without those that hold their default (KIP-482)."""
        self.flush()
        wanted = [self._differs(field, f"{value}.{field.name}") for field in tagged]
        with self.block(f"if {' or '.join(wanted)}:"):
            before, section, count = self.fresh("before"), self.fresh("section"), self.fresh("n")
            self.line(f"{before}, {section}, {count} = out, bytearray(), 0")
            for field, condition in zip(tagged, wanted, strict=True):
                with self.block(f"if {condition}:"):
                    self.line("out = bytearray()")
                    self._field(field, f"{value}.{field.name}")
                    self.flush()
                    self.line(f"{count} += 1")
                    self.line(f"write_unsigned_varint({section}, {field.tag})")
                    self.line(f"write_unsigned_varint({section}, len(out))")
                    self.line(f"{section} += out")
            self.line(f"out = {before}")
            self.line(f"write_unsigned_varint(out, {count})")
            self.line(f"out += {section}")
        with self.block("else:"):
            self.line("out.append(0)")

    def _differs(self, field: Field, value: str) -> str:
        if field.kind == "array":
            return value
        if field.struct is not None:
            default = self.constant(field.struct(), "default")
            return f"({value} is not None and {value} != {default})"
        return f"{value} != {default_source(field, self.constants)}"


@cache
def _packer(formats: str) -> Callable[..., bytes]:
    return struct.Struct(f">{formats}").pack


@cache
def _short_runs(prefix: str, form: str) -> list[Callable[..., bytes]]:
    return [struct.Struct(f">{prefix}{count}{form}").pack for count in range(SHORT_RUN)]
