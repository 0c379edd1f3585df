"""Pure: the little language in which the messages of the protocol are written down as tables.

A message is a class, a field is a line: its type, the versions that carry it, and its default. One
class serves all versions: a field that a version does not carry keeps its default when read and is
left out when written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, TypeAlias, dataclass_transform
from uuid import UUID

from ottla.protocol.api_keys import ApiKey

ZERO_UUID = UUID(int=0)
Records: TypeAlias = bytes | bytearray | memoryview

LATEST = 0x7FFF
FIRST_OWN_TAG: Final = 10_000
"""Tagged fields of ottla's own in Kafka's messages, as its own APIs begin at 10000; who does not know one passes it."""
_EMPTY_ARRAY = object()
_FRESH = object()


class Field:
    """One line of a table."""

    __slots__ = (
        "default",
        "element",
        "kind",
        "name",
        "nullable_since",
        "since",
        "struct",
        "tag",
        "until",
    )

    def __init__(
        self,
        kind: str,
        default: Any,
        *,
        since: int = 0,
        until: int = LATEST,
        nullable: bool = False,
        nullable_since: int = LATEST,
        tag: int | None = None,
        element: str = "",
        struct: type[Struct] | None = None,
    ) -> None:
        self.name = ""
        self.kind = kind
        self.default = default
        self.since = since
        self.until = until
        self.nullable_since = 0 if nullable else nullable_since
        self.tag = tag
        self.element = element
        self.struct = struct

    def exists(self, version: int) -> bool:
        """Whether `version` carries this field."""
        return self.since <= version <= self.until

    def allows_null(self, version: int) -> bool:
        """Whether null is a legal value in `version`."""
        return version >= self.nullable_since


# What follows returns Any so that a line of a table reads `name: str = string()` and type-checks.
def boolean(default: bool = False, **versions: Any) -> Any:
    """A byte, true unless zero."""
    return Field("boolean", default, **versions)


def int8(default: int = 0, **versions: Any) -> Any:
    """A signed byte."""
    return Field("int8", default, **versions)


def int16(default: int = 0, **versions: Any) -> Any:
    """Two bytes, big endian."""
    return Field("int16", default, **versions)


def int32(default: int = 0, **versions: Any) -> Any:
    """Four bytes, big endian."""
    return Field("int32", default, **versions)


def int64(default: int = 0, **versions: Any) -> Any:
    """Eight bytes, big endian."""
    return Field("int64", default, **versions)


def float64(default: float = 0.0, **versions: Any) -> Any:
    """Eight bytes of an IEEE double, big endian."""
    return Field("float64", default, **versions)


def uuid(**versions: Any) -> Any:
    """Sixteen bytes; zero stands for none."""
    return Field("uuid", ZERO_UUID, **versions)


def string(default: str | None = "", **versions: Any) -> Any:
    """Text of at most 32767 bytes."""
    return Field("string", default, **versions)


def blob(default: bytes | None = b"", **versions: Any) -> Any:
    """Bytes that the protocol does not look into; a copy when read."""
    return Field("blob", default, **versions)


def records(default: Records | None = None, **versions: Any) -> Any:
    """Record batches; a view into the buffer they were read from."""
    return Field("records", default, nullable=True, **versions)


def nested(struct: type[Struct], default: object | None = _FRESH, **versions: Any) -> Any:
    """A structure inside a structure.

    A tagged one is None unless it was sent: on the wire, an absent structure and one full of
    defaults are the same.
    """
    if "tag" in versions:
        default = None
    return Field("nested", default, struct=struct, **versions)


def array(
    of: type[Struct] | Callable[..., Any], default: object | None = _EMPTY_ARRAY, **versions: Any
) -> Any:
    """A list of structures, or of one of the types above: `array(int32)`."""
    if isinstance(of, type):
        return Field("array", default, element="nested", struct=of, **versions)
    return Field("array", default, element=of.__name__, **versions)


@dataclass_transform(kw_only_default=True)
class StructMeta(type):
    """Turns the lines of a class body into slots and a list of fields."""

    fields: tuple[Field, ...]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any
    ) -> StructMeta:
        fields = [(key, value) for key, value in body.items() if type(value) is Field]
        for key, field in fields:
            field.name = key
            del body[key]
        body["__slots__"] = tuple(key for key, _ in fields)
        body["fields"] = tuple(field for _, field in fields)
        return super().__new__(mcs, name, bases, body, **options)


class Struct(metaclass=StructMeta):
    """A typed, slotted value with one attribute for each field, all of which have defaults."""

    fields: ClassVar[tuple[Field, ...]]

    def __init__(self, **values: Any) -> None:
        # The constructor is compiled for the first instance: most classes of a process have none.
        cls = type(self)
        cls.__init__ = _constructor(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in self.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in self.fields)
        return f"{type(self).__name__}({values})"


class Request(Struct):
    """What a client sends; `key` says which API it is."""

    api_key: ClassVar[ApiKey]

    def __init_subclass__(cls, *, key: ApiKey) -> None:
        cls.api_key = key


class Response(Struct):
    """What a broker answers."""

    api_key: ClassVar[ApiKey]

    def __init_subclass__(cls, *, key: ApiKey) -> None:
        cls.api_key = key


def error_codes(message: Struct) -> Iterator[int]:
    """Every error code in a response, wherever it stands."""
    for field in message.fields:
        value = getattr(message, field.name)
        if field.name == "error_code":
            yield value
        elif isinstance(value, Struct):
            yield from error_codes(value)
        elif isinstance(value, list) and field.struct is not None:
            for each in value:
                yield from error_codes(each)


def default_source(field: Field, constants: dict[str, Any]) -> str:
    """Python source of a field's default; what it refers to is put into `constants`."""
    if field.default is _EMPTY_ARRAY:
        return "[]"
    if field.default is ZERO_UUID:
        constants["ZERO_UUID"] = ZERO_UUID
        return "ZERO_UUID"
    if field.default is _FRESH and field.struct is not None:
        name = field.struct.__name__
        constants[name] = field.struct
        return f"{name}()"
    return repr(field.default)


def _constructor(cls: type[Struct]) -> Callable[..., None]:
    constants: dict[str, Any] = {"MISSING": object()}
    arguments, body = [], []
    for field in cls.fields:
        name, default = field.name, default_source(field, constants)
        if default.endswith((")", "]")):  # a mutable default: each instance gets its own
            arguments.append(f"{name}=MISSING")
            body.append(f" self.{name} = {default} if {name} is MISSING else {name}")
        else:
            arguments.append(f"{name}={default}")
            body.append(f" self.{name} = {name}")
    parameters = ", ".join(["self", *(["*"] if arguments else []), *arguments])
    exec("\n".join([f"def __init__({parameters}):", *body, " pass"]), constants)
    constructor: Callable[..., None] = constants["__init__"]
    return constructor
