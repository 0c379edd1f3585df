"""Transforms, predicates and converters by the names that configurations use.

Nothing in a configuration is imported by name unless it stands here, or comes from an installed package's entry points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from ottla.connect.connectors.connector import Connector
from ottla.connect.converters.converter import Converter
from ottla.connect.predicates.predicate import Predicate
from ottla.connect.transforms.transform import KeyOrValue, Transform

_TRANSFORMS: Final = "org.apache.kafka.connect.transforms."
_PREDICATES: Final = "org.apache.kafka.connect.transforms.predicates."
_CONVERTERS: Final = "org.apache.kafka.connect.converters."
_KEY, _VALUE = "$Key", "$Value"

# Class by class: the module that holds it, and whether it comes as $Key and $Value.
TRANSFORMS: Final[Mapping[str, tuple[str, bool]]] = {
    "Cast": ("cast", True),
    "DropHeaders": ("drop_headers", False),
    "ExtractField": ("extract_field", True),
    "Filter": ("filter", False),
    "Flatten": ("flatten", True),
    "HeaderFrom": ("header_from", True),
    "HoistField": ("hoist_field", True),
    "InsertField": ("insert_field", True),
    "InsertHeader": ("insert_header", False),
    "MaskField": ("mask_field", True),
    "RegexRouter": ("regex_router", False),
    "ReplaceField": ("replace_field", True),
    "SetSchemaMetadata": ("set_schema_metadata", True),
    "TimestampConverter": ("timestamp_converter", True),
    "TimestampRouter": ("timestamp_router", False),
    "ValueToKey": ("value_to_key", False),
}
PREDICATES: Final[Mapping[str, str]] = {
    "HasHeaderKey": "has_header_key",
    "RecordIsTombstone": "record_is_tombstone",
    "TopicNameMatches": "topic_name_matches",
}
CONVERTERS: Final[Mapping[str, tuple[str, str]]] = {
    "org.apache.kafka.connect.json.JsonConverter": ("json", "JsonConverter"),
    "org.apache.kafka.connect.storage.StringConverter": ("text", "StringConverter"),
    **{
        f"{_CONVERTERS}{name}": ("raw" if name == "ByteArrayConverter" else "numbers", name)
        for name in (
            "BooleanConverter",
            "ByteArrayConverter",
            "DoubleConverter",
            "FloatConverter",
            "IntegerConverter",
            "LongConverter",
            "ShortConverter",
        )
    },
}
CONNECTORS: Final[Mapping[str, tuple[str, str, str]]] = {
    "file-source": (
        "file_source",
        "FileSource",
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
    ),
    "file-sink": ("file_sink", "FileSink", "org.apache.kafka.connect.file.FileStreamSinkConnector"),
    "datagen": ("datagen", "Datagen", "io.confluent.kafka.connect.datagen.DatagenConnector"),
}
"""By their short names: module, class, and the class name that people have in their files."""
_OF_CLASS: Final = {
    alias: row
    for row in CONNECTORS.values()
    for alias in (
        row[2],
        row[2].rpartition(".")[2],
        row[2].rpartition(".")[2].removesuffix("Connector"),
    )
}
_SHORT_CONVERTERS: Final = {name.rpartition(".")[2]: name for name in CONVERTERS} | {
    "json": "org.apache.kafka.connect.json.JsonConverter",
    "string": "org.apache.kafka.connect.storage.StringConverter",
    "bytes": f"{_CONVERTERS}ByteArrayConverter",
    "long": f"{_CONVERTERS}LongConverter",
}


class UnknownPlugin(ValueError):
    """No plugin has that name."""


@cache
def transform_class(name: str) -> type[Transform]:
    """Return a transform by its class name, with or without its package: Cast$Value."""
    short = name.removeprefix(_TRANSFORMS)
    base, _, part = short.partition("$")
    row = TRANSFORMS.get(base)
    if row is None or row[1] != bool(part) or part not in ("", "Key", "Value"):
        raise UnknownPlugin(f"Class {name} could not be found.")
    found: type[Transform] = _load("transforms", row[0], base)
    if not issubclass(found, KeyOrValue):
        return found
    return type(short, (found,), {"is_key": part == "Key", "__module__": found.__module__})


def predicate_class(name: str) -> type[Predicate]:
    """Return a predicate by its class name, with or without its package."""
    short = name.removeprefix(_PREDICATES)
    if short not in PREDICATES:
        raise UnknownPlugin(f"Class {name} could not be found.")
    found: type[Predicate] = _load("predicates", PREDICATES[short], short)
    return found


def converter_class(name: str) -> type[Converter]:
    """Return a converter by its class name, with or without its package, or a short name: json, string, bytes."""
    row = CONVERTERS.get(_SHORT_CONVERTERS.get(name, name))
    if row is None:
        raise UnknownPlugin(f"Class {name} could not be found.")
    found: type[Converter] = _load("converters", *row)
    return found


def connector_class(name: str) -> type[Connector]:
    """Return a connector by its short name, or by the class name that Kafka Connect has for it."""
    row = CONNECTORS.get(name) or _OF_CLASS.get(name)
    if row is None:
        known = ", ".join(sorted(CONNECTORS))
        raise UnknownPlugin(
            f"Failed to find any class that implements Connector and which name matches {name}; there are {known}"
        )
    found: type[Connector] = _load("connectors", row[0], row[1])
    return found


def transform_names() -> Iterator[str]:
    """Return the class names of all transforms."""
    for name, (_, has_parts) in TRANSFORMS.items():
        for part in (_KEY, _VALUE) if has_parts else ("",):
            yield f"{_TRANSFORMS}{name}{part}"


def predicate_names() -> Iterator[str]:
    """Return the class names of all predicates."""
    return (f"{_PREDICATES}{name}" for name in PREDICATES)


def _load(package: str, module: str, name: str) -> Any:
    return getattr(import_module(f"ottla.connect.{package}.{module}"), name)
