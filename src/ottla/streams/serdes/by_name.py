"""Pure: serdes by name, and the one that fits a type."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.streams import types
from ottla.streams.errors import TopologyError
from ottla.streams.expressions.build import Expression
from ottla.streams.serdes.json import JsonSerde
from ottla.streams.serdes.scalars import (
    INT,
    LONG,
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    StringSerde,
    UuidSerde,
)
from ottla.streams.serdes.serde import Serde
from ottla.streams.types import NUMBERS, ListOf, MapOf, Struct, Type

BY_NAME: Mapping[str, Serde] = {
    "bytes": BytesSerde(),
    "string": StringSerde(),
    "int": INT,
    "long": LONG,
    "double": DoubleSerde(),
    "boolean": BooleanSerde(),
    "uuid": UuidSerde(),
    "json": JsonSerde(),
}

_FOR_TYPE: Mapping[Type, Serde] = {
    types.BYTES: BY_NAME["bytes"], types.STRING: BY_NAME["string"], types.INT: BY_NAME["int"],
    types.LONG: BY_NAME["long"], types.DOUBLE: BY_NAME["double"], types.UUID: BY_NAME["uuid"],
}  # fmt: skip


def serde_of(given: object, where: str) -> Serde:
    """Return a serde by name or object; `where` says who asks, in the refusal."""
    if isinstance(given, str):
        if given not in BY_NAME:
            raise TopologyError(
                f"{where}: there is no serde {given!r}; there are {', '.join(BY_NAME)}, and AvroSerde, "
                "ProtobufSerde, JsonSerde and your own as objects"
            )
        return BY_NAME[given]
    is_expression = isinstance(given, Expression)  # which has an attribute of every name
    if isinstance(given, Serde) and not isinstance(given, type) and not is_expression:
        return given
    raise TopologyError(
        f"{where}: {given!r} is no serde: give a name ({', '.join(BY_NAME)}), or an object with name, type, "
        "serialize and deserialize"
    )


def serde_for(type_: Type) -> Serde:
    """Return the serde that internal topics and stores use for values whose serde nobody named.

    It is JSON where the type is not known: values that JSON cannot carry need a serde by name.
    """
    return _FOR_TYPE.get(type_, BY_NAME["json"])


def fits(serde: Serde, type_: Type) -> bool:
    """False if values of this type are known not to be written by this serde."""
    wanted = serde.type
    if types.ANY in (wanted, type_) or type_ == types.NULL or wanted == type_:
        return True
    if wanted in NUMBERS and type_ in NUMBERS:
        return wanted == types.DOUBLE or type_ in (types.INT, types.LONG)
    same_kind = (Struct, MapOf, ListOf)
    return isinstance(wanted, same_kind) and isinstance(type_, same_kind)
