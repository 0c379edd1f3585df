"""Pure: settings that several transforms share."""

from __future__ import annotations

from ottla.connect.options.table import Importance, Kind, Option, one_of

REPLACE_NULL = Option(
    name="replace.null.with.default",
    kind=Kind.BOOLEAN,
    default=True,
    doc="Whether a null in a field with a default is read as that default (KIP-1040).",
)
SYNTAX = Option(
    name="field.syntax.version",
    kind=Kind.STRING,
    default="V1",
    importance=Importance.HIGH,
    check=one_of("V1", "V2"),
    doc="V1: a name is one field of the record. V2: dots lead into structs and maps (KIP-821).",
)
