"""JsonConverter: JSON, with a schema beside each value (`schemas.enable`, the default) or without."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import msgspec

from ottla.connect.converters.converter import Converter
from ottla.connect.converters.json_schema import schema_from_json, schema_to_json
from ottla.connect.converters.json_values import from_json, to_json
from ottla.connect.data.schema import Schema
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options, at_least, one_of

_ENVELOPE: Final = frozenset(("schema", "payload"))


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


class JsonConverter(Converter):
    """Converts JSON."""

    options = Options(
        (
            Option(
                name="schemas.enable",
                kind=Kind.BOOLEAN,
                default=True,
                importance=Importance.HIGH,
                doc="Whether each value stands in an envelope beside its schema.",
            ),
            Option(
                name="schemas.cache.size",
                kind=Kind.INT,
                default=1000,
                importance=Importance.HIGH,
                check=at_least(1),
                doc="How many schemas are remembered.",
            ),
            Option(
                name="decimal.format",
                kind=Kind.STRING,
                default="BASE64",
                importance=Importance.LOW,
                check=one_of("BASE64", "NUMERIC"),
                doc="How decimals are written.",
            ),
            Option(
                name="replace.null.with.default",
                kind=Kind.BOOLEAN,
                default=True,
                importance=Importance.LOW,
                doc="Whether a null in a field with a default is read as that default.",
            ),
        )
    )

    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return a value as JSON; a null without schema as null."""
        if schema is None and value is None:
            return None
        numeric = self.settings["decimal.format"].upper() == "NUMERIC"
        payload = to_json(schema, value, numeric_decimals=numeric)
        if self.settings["schemas.enable"]:
            shown = None if schema is None else schema_to_json(schema, numeric_decimals=numeric)
            payload = {"schema": shown, "payload": payload}
        return _ENCODER.encode(_finite(payload))

    def from_bytes(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return schema and value of JSON."""
        if data is None:
            return None, None
        try:
            given = json.loads(data)
        except ValueError as wrong:
            raise DataInvalid(
                f"Converting byte[] to Kafka Connect data failed due to serialization error: {wrong}"
            ) from None
        if not self.settings["schemas.enable"]:
            return None, given
        if not isinstance(given, dict) or set(given) != _ENVELOPE:
            raise DataInvalid(
                'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain'
                " additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in"
                " your converter configuration."
            )
        schema = None if given["schema"] is None else schema_from_json(given["schema"])
        return schema, from_json(schema, given["payload"])


def _finite(value: Any) -> Any:
    """Return a value with NaN and infinities as strings, as Jackson writes them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value
