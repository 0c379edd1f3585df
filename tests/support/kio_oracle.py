"""Between ottla's messages and those of kio, an independent implementation that tests trust."""

from __future__ import annotations

import dataclasses
import datetime
import io
import random
import typing
import uuid
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import request_class, response_class
from ottla.protocol.schema import FIRST_OWN_TAG, ZERO_UUID, Field, Struct

RANGES = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
KNOWN_ERRORS = [int(code) for code in ErrorCode]
TEXTS = ["", "a", "topic", "żółw", "x" * 126, "y" * 127, "z" * 300]


def api_versions() -> list[tuple[ApiKey, int]]:
    """Every API in the tables with each of its versions."""
    return [
        (key, version)
        for key in ApiKey
        if _in_tables(key) and not key.is_own
        for version in range(key.first_version, key.last_version + 1)
    ]


def messages(key: ApiKey, version: int) -> list[tuple[type[Struct], Any]]:
    """Request and response of a version: our class and kio's."""
    return [
        (request_class(key), _kio_class(key, version, "Request")),
        (response_class(key), _kio_class(key, version, "Response")),
    ]


def arbitrary(cls: type[Struct], version: int, rng: random.Random) -> Any:
    """A random message with the fields that `version` carries; the others keep their defaults."""
    message = cls()
    for field in cls.fields:
        left_out = field.tag is not None and (rng.random() < 0.4 or _is_own(field))
        if field.exists(version) and not left_out:
            setattr(message, field.name, _value(field, version, rng))
    return message


def kio_encode(message: Any, kio_class: Any) -> bytes:
    """The body of `message` as kio writes it."""
    with io.BytesIO() as out:
        entity_writer(kio_class)(out, to_kio(message, kio_class))
        return out.getvalue()


def kio_decode(body: bytes, kio_class: Any) -> Any:
    """The kio entity in `body`."""
    entity, _ = entity_reader(kio_class)(body, 0)
    return entity


def to_kio(message: Any, kio_class: Any) -> Any:
    """The same message in kio's classes and types."""
    if message is None:
        return None
    values = {}
    for field, hint, ours in _pairs(kio_class, type(message)):
        values[field.name] = _to_kio_value(getattr(message, ours), field, hint)
    return kio_class(**values)


def _to_kio_value(value: Any, field: Any, hint: Any) -> Any:
    inner = entity_type(hint)
    if isinstance(value, list):
        return tuple(to_kio(v, inner) if inner else _scalar_to_kio(v, field) for v in value)
    if inner:
        return inner() if value is None and "tag" in field.metadata else to_kio(value, inner)
    return _scalar_to_kio(value, field)


def _scalar_to_kio(value: Any, field: Any) -> Any:
    kind = field.metadata.get("kafka_type", "")
    if kind == "error_code":
        return ErrorCode(value)
    if kind.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if kind == "datetime_i64":
        return None if value == -1 else EPOCH + datetime.timedelta(milliseconds=value)
    if kind == "uuid":
        return None if value == ZERO_UUID else value
    return value


def field_names(kio_class: Any, ours: type[Struct], version: int) -> tuple[set[str], set[str]]:
    """What kio and our tables call the fields of a version, in our spelling."""
    theirs = {name for _, _, name in _pairs(kio_class, ours)}
    return theirs, {f.name for f in ours.fields if f.exists(version) and not _is_own(f)}


def _is_own(field: Field) -> bool:
    """Whether Kafka knows nothing of a field: a tagged one of ottla's own, which others pass over."""
    return field.tag is not None and field.tag >= FIRST_OWN_TAG


def nested_pairs(kio_class: Any, ours: type[Struct]) -> list[tuple[Any, type[Struct]]]:
    """Both classes of a message and of all structures inside."""
    found = [(kio_class, ours)]
    by_name = {f.name: f for f in ours.fields}
    for _, hint, name in _pairs(kio_class, ours):
        inner, struct = entity_type(hint), by_name[name].struct
        if inner is not None and struct is not None:
            found += nested_pairs(inner, struct)
    return found


@cache
def _pairs(kio_class: Any, ours: type[Struct]) -> list[tuple[Any, Any, str]]:
    """kio's fields, their types, and our names for them: kio drops the unit of times."""
    known = {f.name for f in ours.fields}
    hints = typing.get_type_hints(kio_class)
    pairs = []
    for field in dataclasses.fields(kio_class):
        name = field.name if field.name in known else f"{field.name}_ms"
        assert name in known, f"{ours.__name__} lacks {field.name}"
        pairs.append((field, hints[field.name], name))
    return pairs


def entity_type(hint: Any) -> Any:
    """The kio entity inside a type, if any."""
    if dataclasses.is_dataclass(hint):
        return hint
    return next(filter(None, map(entity_type, typing.get_args(hint))), None)


def _value(field: Field, version: int, rng: random.Random) -> Any:
    if field.allows_null(version) and rng.random() < 0.3:
        return None
    if field.kind == "array":
        count = rng.choice([0, 1, 2, 3, 20 if field.struct is None else 4])
        return [_element(field, version, rng) for _ in range(count)]
    if field.struct is not None:
        return arbitrary(field.struct, version, rng)
    return _scalar(field.kind, field.name, rng)


def _element(field: Field, version: int, rng: random.Random) -> Any:
    if field.struct is not None:
        return arbitrary(field.struct, version, rng)
    return _scalar(field.element, field.name, rng)


def _scalar(kind: str, name: str, rng: random.Random) -> Any:
    if name.endswith("error_code"):
        return rng.choice(KNOWN_ERRORS)
    if name.endswith("_ms"):
        return rng.randrange(2**31)
    if kind in RANGES:
        bits = RANGES[kind] - 1
        return rng.choice([0, -1, 2**bits - 1, -(2**bits), rng.randrange(-(2**bits), 2**bits)])
    return {
        "boolean": lambda: rng.random() < 0.5,
        "string": lambda: rng.choice(TEXTS),
        "float64": lambda: rng.choice([0.0, -1.5, 1e300, rng.random()]),
        "uuid": lambda: rng.choice([ZERO_UUID, uuid.UUID(int=rng.getrandbits(128))]),
        "blob": lambda: rng.randbytes(rng.choice([0, 1, 126, 127, 200])),
        "records": lambda: rng.randbytes(rng.choice([0, 61, 200])),
    }[kind]()


@cache
def _kio_class(key: ApiKey, version: int, direction: str) -> Any:
    module = import_module(f"kio.schema.{key.name.lower()}.v{version}.{direction.lower()}")
    return getattr(module, f"{key.api_name}{direction}")


def _in_tables(key: ApiKey) -> bool:
    return find_spec(f"ottla.protocol.apis.{key.name.lower()}") is not None
