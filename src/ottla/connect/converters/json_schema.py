"""Pure: schemas as the JSON that Kafka's JsonConverter writes beside each value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from json import dumps, loads
from typing import Any

from ottla.connect.converters.json_values import from_json, to_json
from ottla.connect.data.schema import Schema, Type, array, mapping, struct
from ottla.connect.errors import DataInvalid


def schema_to_json(schema: Schema, *, numeric_decimals: bool = False) -> dict[str, Any]:
    """Return a schema as JSON, its members in Kafka's order."""
    found: dict[str, Any] = {"type": str(schema.type)}
    if schema.type is Type.STRUCT:
        found["fields"] = [
            schema_to_json(field.schema, numeric_decimals=numeric_decimals) | {"field": field.name}
            for field in schema.fields
        ]
    elif schema.items is not None and schema.type is Type.ARRAY:
        found["items"] = schema_to_json(schema.items, numeric_decimals=numeric_decimals)
    elif schema.items is not None and schema.keys is not None:
        found["keys"] = schema_to_json(schema.keys, numeric_decimals=numeric_decimals)
        found["values"] = schema_to_json(schema.items, numeric_decimals=numeric_decimals)
    found["optional"] = schema.is_optional
    details = {
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": schema.parameters,
    }
    found |= {name: detail for name, detail in details.items() if detail is not None}
    if schema.default is not None:
        found["default"] = to_json(schema, schema.default, numeric_decimals=numeric_decimals)
    return found


@lru_cache(maxsize=1000)
def _known(text: str) -> Schema:
    return _read(loads(text))


def schema_from_json(given: Any) -> Schema:
    """Return the schema that JSON describes."""
    return _known(dumps(given, sort_keys=True))


def _read(given: Any) -> Schema:
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str):
        raise DataInvalid("Schema must contain 'type' field")
    try:
        kind = Type(given["type"])
    except ValueError:
        raise DataInvalid(f"Unknown schema type: {given['type']}") from None
    details: dict[str, Any] = {
        "is_optional": bool(given.get("optional", False)),
        "name": given.get("name"),
        "version": given.get("version"),
        "doc": given.get("doc"),
        "parameters": given.get("parameters"),
    }
    schema = _of_kind(kind, given, details)
    if given.get("default") is None:
        return schema
    return Schema(**{**vars(schema), "default": from_json(schema, given["default"])})


def _of_kind(kind: Type, given: Mapping[str, Any], details: dict[str, Any]) -> Schema:
    if kind is Type.STRUCT:
        fields = []
        for each in given.get("fields") or ():
            if not isinstance(each.get("field"), str):
                raise DataInvalid("Struct schema's field name not specified properly")
            fields.append((each["field"], _read(each)))
        return struct(iter(fields), **details)
    if kind is Type.ARRAY:
        if given.get("items") is None:
            raise DataInvalid("Array schema did not specify the element type")
        return array(_read(given["items"]), **details)
    if kind is Type.MAP:
        if given.get("keys") is None or given.get("values") is None:
            raise DataInvalid("Map schema did not specify the key and value types")
        return mapping(_read(given["keys"]), _read(given["values"]), **details)
    return Schema(kind, **details)
