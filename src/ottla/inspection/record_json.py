"""Pure: records as JSON and back, byte for byte: what is no text goes as base64.

    {"topic": "t", "partition": 0, "offset": 7, "timestamp": 1767182400000, "timestamp_type": "create",
     "key": "k", "value": "v", "headers": [{"name": "h", "value": "x"}]}

In place of `key` and `value` there may be `key_base64` and `value_base64`. Who writes such lines by hand may give
any JSON as a value, and headers as an object; all that is left out is chosen by the producer.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final, NamedTuple

from ottla.base.errors import OttlaError
from ottla.client.consumer_record import LOG_APPEND_TIME, ConsumerRecord

_FIELDS: Final = frozenset(
    (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "key_base64",
        "value",
        "value_base64",
        "headers",
    )
)
_HEADER_FIELDS: Final = frozenset(("name", "value", "value_base64"))


class NewRecord(NamedTuple):
    """A record to be written; None leaves the choice to the producer, or is null."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class NotARecord(OttlaError):
    """JSON that is not the JSON of a record."""


def record_json(record: ConsumerRecord) -> dict[str, Any]:
    """A record with all that belongs to it."""
    appended = record.timestamp_type == LOG_APPEND_TIME
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": "append" if appended else "create",
        **_encoded("key", record.key),
        **_encoded("value", record.value),
        "headers": [{"name": name, **_encoded("value", value)} for name, value in record.headers],
    }


def is_record_json(found: Any) -> bool:
    """Whether this JSON is a record rather than a value: an object of nothing but a record's fields."""
    return (
        isinstance(found, dict)
        and not found.keys() - _FIELDS
        and ("value" in found or "value_base64" in found)
    )


def new_record(found: Any) -> NewRecord:
    """The record that this JSON describes; NotARecord says what is wrong with it."""
    if not isinstance(found, dict):
        raise NotARecord("is no JSON object with a value")
    if unknown := sorted(found.keys() - _FIELDS):
        raise NotARecord(f"has the field {unknown[0]}, which no record has")
    return NewRecord(
        _decoded(found, "value"),
        _decoded(found, "key"),
        _headers(found.get("headers")),
        _whole(found, "partition"),
        _whole(found, "timestamp"),
    )


def _encoded(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}


def _decoded(found: dict[str, Any], name: str) -> bytes | None:
    encoded = found.get(f"{name}_base64")
    if encoded is not None:
        if name in found:
            raise NotARecord(f"has both {name} and {name}_base64")
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise NotARecord(f"has a {name}_base64 that is not base64") from None
    value = found.get(name)
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise NotARecord(f"has a {name} with half a character in it") from None


def _headers(found: Any) -> tuple[tuple[str, bytes | None], ...]:
    if found is None:
        return ()
    if isinstance(found, dict):
        return tuple((name, _decoded({"value": value}, "value")) for name, value in found.items())
    if not isinstance(found, list):
        raise NotARecord("has headers that are neither a list nor an object")
    headers = []
    for each in found:
        if not isinstance(each, dict) or each.keys() - _HEADER_FIELDS or "name" not in each:
            raise NotARecord('has a header that is not {"name": ..., "value": ...}')
        headers.append((str(each["name"]), _decoded(each, "value")))
    return tuple(headers)


def _whole(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise NotARecord(f"has a {name} that is no whole number: {value!r}")
    return value
