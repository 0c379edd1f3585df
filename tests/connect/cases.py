"""Records and configurations of transforms, made up by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

NAMES = ("a", "b", "c", "id", "when", "inner", "tags")
TEXTS = ("", "x", "7", "-3.5", "true", "2026-11-18 07:08:09", "ünïcode", "null")
PREFIX = "org.apache.kafka.connect.transforms."


class Case(NamedTuple):
    """One transform, its settings and a record as JSON."""

    transform: str
    config: dict[str, str]
    record: dict[str, Any]


class Maker:
    """Makes cases."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def case(self) -> Case:
        """Return the next case."""
        name = self._rng.choice(sorted(CONFIGS))
        config = {key: value for key, value in CONFIGS[name](self) if value is not None}
        return Case(PREFIX + name, config, self._record())

    def pick(self, *choices: Any) -> Any:
        """Return one of these."""
        return self._rng.choice(choices)

    def names(self, most: int = 3) -> list[str]:
        """Return distinct names of fields."""
        return self._rng.sample(NAMES, self._rng.randint(1, most))

    def name(self) -> str:
        """Return one name of a field."""
        return self._rng.choice(NAMES)

    def _record(self) -> dict[str, Any]:
        has_schema = self._rng.random() < 0.6
        make = self._with_schema if has_schema else self._schemaless
        headers = [
            [self.pick("h1", "h2"), self._primitive_envelope()]
            for _ in range(self._rng.randint(0, 2))
        ]
        return {
            "topic": self.pick("orders", "orders-eu", "x.y"),
            "partition": self._rng.randint(0, 3),
            "offset": self._rng.randint(0, 1000),
            "timestamp": self.pick(0, 1_763_449_689_123, 951_782_400_000),
            "key": make(),
            "value": self.pick(make, make, make, self._primitive_envelope, self._nothing)(),
            "headers": headers,
        }

    def _nothing(self) -> dict[str, Any]:
        return {"schema": None, "payload": None}

    def _schemaless(self) -> dict[str, Any]:
        return {"schema": None, "payload": {name: self._loose(1) for name in self.names(5)}}

    def _loose(self, depth: int) -> Any:
        kinds = ["int", "float", "text", "bool", "null"] + (["map", "list"] if depth else [])
        kind = self._rng.choice(kinds)
        if kind == "map":
            return {name: self._loose(depth - 1) for name in self.names()}
        if kind == "list":
            return [self._loose(0) for _ in range(self._rng.randint(0, 3))]
        return {"int": self._integer(), "float": self._floating(), "text": self.pick(*TEXTS)}.get(
            kind, self.pick(True, False) if kind == "bool" else None
        )

    def _integer(self) -> int:
        return self.pick(0, 1, -1, 127, 128, 300, 65_536, -(2**31), 2**40, 1_763_449_689_123)

    def _floating(self) -> float:
        return self.pick(0.5, -1.25, 3.0, 1e10, 123_456.789, -0.001, 300.7)

    def _primitive_envelope(self) -> dict[str, Any]:
        schema, value = self._field()
        return {"schema": schema, "payload": value}

    def _with_schema(self) -> dict[str, Any]:
        schema, value = self._struct(1)
        if self._rng.random() < 0.2:
            schema |= {"name": "com.example.Order", "version": 3}
        return {"schema": schema, "payload": value}

    def _struct(self, depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
        fields, payload = [], {}
        for name in self.names(5):
            is_struct = depth and self._rng.random() < 0.2
            schema, value = self._struct(depth - 1) if is_struct else self._field()
            fields.append(schema | {"field": name})
            payload[name] = value
        return {"type": "struct", "fields": fields, "optional": False}, payload

    def _field(self) -> tuple[dict[str, Any], Any]:
        schema, value = self._rng.choice(self._fields())
        schema = {"type": schema["type"], "optional": False} | schema
        if self._rng.random() < 0.3:
            schema["optional"] = True
            if self._rng.random() < 0.3 and schema["type"] in ("int32", "string"):
                schema["default"] = value
            if self._rng.random() < 0.5:
                value = None
        return schema, value

    def _fields(self) -> list[tuple[dict[str, Any], Any]]:
        rng = self._rng
        return [
            ({"type": "int8"}, rng.randint(-128, 127)),
            ({"type": "int32"}, rng.choice([0, 5, -7, 70_000])),
            ({"type": "int64"}, self._integer()),
            ({"type": "float"}, rng.choice([0.5, -1.25, 1.1, 3.4e10])),
            ({"type": "double"}, self._floating()),
            ({"type": "boolean"}, rng.random() < 0.5),
            ({"type": "string"}, rng.choice(TEXTS)),
            ({"type": "string"}, rng.choice(TEXTS)),
            ({"type": "bytes"}, "AAEC"),
            ({"type": "array", "items": {"type": "int32", "optional": False}}, [1, 2]),
            ({"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}, 1_763_449_689_123),
            ({"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}, 20_410),
            ({"type": "int32", "name": "org.apache.kafka.connect.data.Time", "version": 1}, 3_600_123),
        ]  # fmt: skip


Settings = Iterator[tuple[str, str | None]]


def _cast(make: Maker) -> Settings:
    kinds = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
    whole = make.pick(False, False, True)
    spec = [make.pick(*kinds)] if whole else [f"{n}:{make.pick(*kinds)}" for n in make.names()]
    yield "spec", ",".join(spec)
    yield "replace.null.with.default", make.pick(None, "true", "false")


def _fields(make: Maker) -> Settings:
    yield "fields", ",".join(make.names())
    yield "replace.null.with.default", make.pick(None, "false")


def _extract(make: Maker) -> Settings:
    yield "field", make.pick(make.name(), f"inner.{make.name()}")
    yield "field.syntax.version", make.pick(None, "V1", "V2")


def _header_from(make: Maker) -> Settings:
    fields = make.names()
    yield "fields", ",".join(fields)
    yield "headers", ",".join(f"h-{name}" for name in fields)
    yield "operation", make.pick("move", "copy")


def _insert(make: Maker) -> Settings:
    yield "topic.field", make.pick(None, "topic", "topic!")
    yield "partition.field", make.pick(None, "partition?")
    yield "offset.field", make.pick(None, "offset")
    yield "timestamp.field", make.pick(None, "at", "at!")
    yield "static.field", make.pick(None, "static")
    yield "static.value", "fixed"


def _mask(make: Maker) -> Settings:
    yield "fields", ",".join(make.names(2))
    yield "replacement", make.pick(None, None, "7", "xxx")


def _replace(make: Maker) -> Settings:
    yield "include", make.pick(None, ",".join(make.names(5)))
    yield "exclude", make.pick(None, make.name())
    yield "renames", make.pick(None, f"{make.name()}:renamed")


def _timestamp(make: Maker) -> Settings:
    target = make.pick("string", "unix", "Date", "Time", "Timestamp")
    yield "field", make.pick(None, "when", make.name())
    yield "target.type", target
    yield (
        "format",
        make.pick("yyyy-MM-dd HH:mm:ss", "EEE dd MMM yyyy, HH:mm:ss.SSS")
        if target == "string"
        else make.pick(None, "yyyy-MM-dd HH:mm:ss"),
    )
    yield "unix.precision", make.pick(None, "seconds", "microseconds", "nanoseconds")


def _router(make: Maker) -> Settings:
    yield "regex", make.pick("orders(.*)", "(.*)\\.(.*)", "nothing")
    yield "replacement", make.pick("new$1", "copy-$1-$1", "fixed")


def _timestamp_router(make: Maker) -> Settings:
    yield "topic.format", make.pick(None, "${timestamp}_${topic}")
    yield "timestamp.format", make.pick(None, "yyyy-MM", "yyyyMMddHH")


def _insert_header(make: Maker) -> Settings:
    yield "header", "made"
    yield "value.literal", make.pick("text", "5", "true", "300", "3.5")


def _metadata(make: Maker) -> Settings:
    yield "schema.name", make.pick(None, "com.example.New")
    yield "schema.version", make.pick(None, "4")


CONFIGS = {
    "Cast$Value": _cast,
    "Cast$Key": _cast,
    "DropHeaders": lambda make: iter([("headers", make.pick("h1", "h1,h2", "none"))]),
    "ExtractField$Value": _extract,
    "Filter": lambda make: iter([]),
    "Flatten$Value": lambda make: iter([("delimiter", make.pick(None, "_"))]),
    "HeaderFrom$Value": _header_from,
    "HoistField$Value": lambda make: iter([("field", "hoisted")]),
    "InsertField$Value": _insert,
    "InsertField$Key": _insert,
    "InsertHeader": _insert_header,
    "MaskField$Value": _mask,
    "RegexRouter": _router,
    "ReplaceField$Value": _replace,
    "SetSchemaMetadata$Value": _metadata,
    "TimestampConverter$Value": _timestamp,
    "TimestampRouter": _timestamp_router,
    "ValueToKey": _fields,
}
