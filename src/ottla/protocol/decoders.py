"""Pure: compiles a message and a version into one flat function that reads it, and keeps it.

The function works on the message's bytes alone, so that reading past the end cannot see what lies
behind. Reads of fixed width are merged into one unpack, which checks bounds in C; every length and
count is compared with the bytes left before anything is made of it. Whatever is wrong with the
bytes comes out as ProtocolError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from ottla.base.errors import ProtocolError
from ottla.protocol.codegen import (
    FORMATS,
    LONGEST_STRING,
    SHORT_RUN,
    WIDTHS,
    Source,
    holds_records,
    smallest_element,
)
from ottla.protocol.schema import Field, Records, Struct, default_source
from ottla.protocol.varint import read_unsigned_varint, skip_tagged_fields


@cache
def decoder(cls: type[Struct], version: int, flexible: bool) -> Callable[[Records, int, int], Any]:
    """The function `(buf, pos, end) -> cls`; as in Kafka, bytes behind the message are ignored."""
    # Only record batches are worth a view: all else reads quicker from bytes, and outlives `buf`.
    views = holds_records(cls)
    source = _DecoderSource(cls, version, flexible, views)
    source.struct(cls, "message")
    source.flush()
    region = "memoryview(buf)[pos:end]"
    head = [
        "def decode(buf, pos, end):",
        f" buf = {region if views else f'bytes({region})'}",
        " pos, end = 0, len(buf)",
        " try:",
    ]
    tail = [
        " except (struct_error, IndexError):",
        "  raise truncated(end) from None",
        " return message",
    ]
    source.constants.update(_helpers(f"{cls.__name__} v{version}"))
    return source.compile(head, tail)


@lru_cache(maxsize=4096)
def uuid_of(raw: bytes) -> UUID:
    """The UUID of 16 bytes; the same few topics are asked for over and over."""
    return UUID(bytes=raw)


def _read_long_string_length(buf: memoryview, pos: int) -> tuple[int, int]:
    length, pos = read_unsigned_varint(buf, pos)
    if length > LONGEST_STRING + 1:
        raise ProtocolError(f"a string of {length - 1} bytes is longer than {LONGEST_STRING}")
    return length, pos


def _helpers(what: str) -> dict[str, Any]:
    def truncated(size: int) -> ProtocolError:
        return ProtocolError(f"{what}: {size} bytes end in the middle of the message")

    def malformed(field: str, length: int) -> ProtocolError:
        if length < 0:
            return ProtocolError(f"{what}: {field} must not be null")
        return ProtocolError(f"{what}: {field} has a length of {length}, more than there can be")

    return {
        "malformed": malformed,
        "new": object.__new__,
        "read_long_string_length": _read_long_string_length,
        "read_unsigned_varint": read_unsigned_varint,
        "skip_tagged_fields": skip_tagged_fields,
        "struct_error": struct.error,
        "truncated": truncated,
        "unpack_from": struct.unpack_from,
        "uuid_of": uuid_of,
    }


class _DecoderSource(Source):
    """Collects reads; those of fixed width wait in a run until one of unknown width follows."""

    def __init__(self, cls: type[Struct], version: int, flexible: bool, views: bool) -> None:
        super().__init__(cls, version, flexible)
        self._views = views
        self._run: list[tuple[str, str]] = []
        self._after_run: list[str] = []

    def struct(self, cls: type[Struct], target: str) -> None:
        """Read a structure into the local variable `target`."""
        self.line(f"{target} = new({self.constant(cls, 'struct')})")
        tagged = []
        for field in cls.fields:
            if field.tag is not None and field.exists(self.version):
                tagged.append(field)
            if field.tag is not None or not field.exists(self.version):
                self.line(f"{target}.{field.name} = {default_source(field, self.constants)}")
            else:
                self._field(field, f"{target}.{field.name}")
        if self.flexible:
            self._tagged_fields(tagged, target)

    def flush(self) -> None:
        """Write the waiting reads of fixed width."""
        if not self._run:
            return
        formats = "".join(form for form, _ in self._run)
        targets = ", ".join(target for _, target in self._run)
        if formats == "B":
            self.line(f"{targets} = buf[pos]")
            self.line("pos += 1")
        else:
            unpack = struct.Struct(f">{formats}")
            name = self.constant(unpack.unpack_from, "unpack")
            self.line(f"{targets}{',' if len(self._run) == 1 else ''} = {name}(buf, pos)")
            self.line(f"pos += {unpack.size}")
        for text in self._after_run:
            self.line(text)
        self._run, self._after_run = [], []

    def _field(self, field: Field, target: str) -> None:
        nullable = field.allows_null(self.version)
        if field.kind == "array":
            self._array(field, target, nullable)
        elif field.struct is not None:
            self._nested(field.struct, target, nullable)
        else:
            self._value(field.kind, target, field.name, nullable)

    def _value(self, kind: str, target: str, name: str, nullable: bool = False) -> None:
        if kind in FORMATS:
            self._run.append((FORMATS[kind], target))
        elif kind == "uuid":
            raw = self.fresh("raw")
            self._run.append(("16s", raw))
            self._after_run.append(f"{target} = uuid_of({raw})")
        else:
            self._sized(kind, target, name, nullable)

    def _sized(self, kind: str, target: str, name: str, nullable: bool) -> None:
        length = self._length("h" if kind == "string" else "i")
        if nullable:
            with self.block(f"if {length} < 0:"):
                self.line(f"{target} = None")
            with self.block("else:"):
                self.line(f"if {length} > end - pos: raise malformed({name!r}, {length})")
                self._slice(kind, target, length)
        else:
            self.line(f"if not 0 <= {length} <= end - pos: raise malformed({name!r}, {length})")
            self._slice(kind, target, length)

    def _slice(self, kind: str, target: str, length: str) -> None:
        piece = f"buf[pos:pos + {length}]"
        if kind == "string":
            # As in Kafka, what is not UTF-8 becomes U+FFFD: no connection is lost over a label.
            piece = f"str({piece}, 'utf-8', 'replace')"
        elif kind == "blob" and self._views:
            piece = f"bytes({piece})"
        self.line(f"{target} = {piece}")
        self.line(f"pos += {length}")

    def _length(self, legacy_format: str) -> str:
        """Read a length or count into a new variable: -1 for null."""
        length = self.fresh("n")
        self._run.append(("B" if self.flexible else legacy_format, length))
        self.flush()
        if self.flexible:
            read = "read_long_string_length" if legacy_format == "h" else "read_unsigned_varint"
            self.line(f"if {length} > 127: {length}, pos = {read}(buf, pos - 1)")
            self.line(f"{length} -= 1")
        return length

    def _nested(self, cls: type[Struct], target: str, nullable: bool) -> None:
        value = self.fresh("value")
        if not nullable:
            self.struct(cls, value)
            self.line(f"{target} = {value}")
            return
        present = self.fresh("present")
        self._run.append(("b", present))
        self.flush()
        # Behind a tag, null is 0 and not -1.
        with self.block(f"if {present} < 1:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            self.struct(cls, value)
            self.flush()
            self.line(f"{target} = {value}")

    def _array(self, field: Field, target: str, nullable: bool) -> None:
        count = self._length("i")
        room = f"(end - pos) // {smallest_element(field, self.version, self.flexible)}"
        if nullable:
            with self.block(f"if {count} < 0:"):
                self.line(f"{target} = None")
            with self.block("else:"):
                self.line(f"if {count} > {room}: raise malformed({field.name!r}, {count})")
                self._elements(field, target, count)
        else:
            self.line(f"if not 0 <= {count} <= {room}: raise malformed({field.name!r}, {count})")
            self._elements(field, target, count)

    def _elements(self, field: Field, target: str, count: str) -> None:
        if field.element in FORMATS:
            self._numbers(field.element, target, count)
            return
        add, element = self.fresh("add"), self.fresh("element")
        self.line(f"{target} = []")
        self.line(f"{add} = {target}.append")
        with self.block(f"for _ in range({count}):"):
            if field.struct is not None:
                self.struct(field.struct, element)
            else:
                self._value(field.element, element, field.name)
            self.flush()
            self.line(f"{add}({element})")

    def _numbers(self, kind: str, target: str, count: str) -> None:
        short = self.constant(_short_runs(FORMATS[kind]), "runs")
        general = f"unpack_from('>%d{FORMATS[kind]}' % {count}, buf, pos)"
        quick = f"{short}[{count}](buf, pos)"
        self.line(f"{target} = list({quick} if {count} < {SHORT_RUN} else {general})")
        self.line(f"pos += {count} * {WIDTHS[kind]}")

    def _tagged_fields(self, tagged: list[Field], target: str) -> None:
        count = self.fresh("n")
        self._run.append(("B", count))
        self.flush()
        if not tagged:
            self.line(f"if {count}: pos = skip_tagged_fields(buf, pos - 1)")
            return
        with self.block(f"if {count}:"):
            self.line(f"{count}, pos = read_unsigned_varint(buf, pos - 1)")
            with self.block(f"for _ in range({count}):"):
                self._one_tagged_field(tagged, target)

    def _one_tagged_field(self, tagged: list[Field], target: str) -> None:
        tag, stop = self.fresh("tag"), self.fresh("stop")
        self.line(f"{tag}, pos = read_unsigned_varint(buf, pos)")
        self.line(f"{stop}, pos = read_unsigned_varint(buf, pos)")
        self.line(f"if {stop} > end - pos: raise malformed('a tagged field', {stop})")
        self.line(f"{stop} += pos")
        for field in tagged:
            with self.block(f"if {tag} == {field.tag}:"):
                self._field(field, f"{target}.{field.name}")
                self.flush()
                self.line(f"if pos > {stop}: raise malformed({field.name!r}, pos - {stop})")
        self.line(f"pos = {stop}")


@cache
def _short_runs(form: str) -> list[Callable[..., tuple[Any, ...]]]:
    return [struct.Struct(f">{count}{form}").unpack_from for count in range(SHORT_RUN)]
