"""Pure: records as v3 takes them, and the report of each."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec

from ottla.http.server.errors import HttpError

_SCHEMA_TYPES: Final = ("AVRO", "JSONSCHEMA", "PROTOBUF")
PartitionId = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class RecordData(msgspec.Struct):
    """A key or a value."""

    data: Any = None
    type: str | None = None
    subject: str | None = None
    subject_name_strategy: str | None = None
    schema_id: int | None = None
    schema_version: int | None = None
    schema: str | None = None


class RecordHeader(msgspec.Struct):
    """A header; its value is base64."""

    name: str
    value: str | None = None


class ProduceRequest(msgspec.Struct):
    """A record to be written."""

    partition_id: PartitionId | None = None
    headers: list[RecordHeader] = []
    key: RecordData | None = None
    value: RecordData | None = None
    timestamp: datetime | None = None


class ProducedData(msgspec.Struct, omit_defaults=True):
    """What became of a key or a value."""

    size: int
    type: str | None = None


class ProduceResponse(msgspec.Struct, kw_only=True):
    """Where a record was written."""

    error_code: int = 200
    cluster_id: str
    topic_name: str
    partition_id: int
    offset: int
    timestamp: str | None = None
    key: ProducedData | None = None
    value: ProducedData | None = None


class ProduceReport(msgspec.Struct, kw_only=True):
    """A line of the answer: where a record was written, or with another code than 200 why it was not."""

    error_code: int
    message: str | None = None
    cluster_id: str | None = None
    topic_name: str | None = None
    partition_id: int | None = None
    offset: int | None = None
    timestamp: str | None = None
    key: ProducedData | None = None
    value: ProducedData | None = None


class Encoded(msgspec.Struct, frozen=True):
    """A record as the producer takes it, and what to say of its parts."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int | None
    timestamp_ms: int | None
    key_data: ProducedData | None
    value_data: ProducedData | None


def encoded_record(request: ProduceRequest) -> Encoded:
    """The bytes of a record; HttpError says what cannot be made of it."""
    key, key_data = _bytes(request.key, "key")
    value, value_data = _bytes(request.value, "value")
    headers = tuple((each.name, _decoded(each.value, "a header")) for each in request.headers)
    return Encoded(
        key,
        value,
        headers,
        request.partition_id,
        None if request.timestamp is None else _milliseconds(request.timestamp),
        key_data,
        value_data,
    )


def iso_time(timestamp_ms: int) -> str | None:
    """A time as v3 writes it."""
    if timestamp_ms < 0:
        return None
    try:
        found = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _bytes(part: RecordData | None, what: str) -> tuple[bytes | None, ProducedData | None]:
    if part is None:
        return None, None
    kind = part.type
    if kind is None or kind in _SCHEMA_TYPES:
        if kind is None and part.data is None and part.schema_id is None and part.schema is None:
            return None, None
        named = kind or "no type, which means a schema"
        raise HttpError(
            415,
            f"the {what} has {named}: that needs a schema registry, and schema.registry.url is not set; "
            "send type BINARY, STRING or JSON",
            code=415,
        )
    if kind == "BINARY":
        data = _decoded(part.data, f"the {what}")
    elif kind == "STRING":
        if part.data is not None and not isinstance(part.data, str):
            raise HttpError(422, f"the {what} is STRING, but its data is no text", code=422)
        data = None if part.data is None else part.data.encode("utf-8", "surrogatepass")
    elif kind == "JSON":
        data = msgspec.json.encode(part.data)
    else:
        raise HttpError(422, f"the {what} has the type {kind[:40]}, which does not exist", code=422)
    return data, ProducedData(0 if data is None else len(data), kind)


def _decoded(text: Any, what: str) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise HttpError(422, f"{what} is not base64", code=422) from None


def _milliseconds(moment: datetime) -> int:
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, round(zoned.timestamp() * 1000))
