"""Consumer instances: making them, deleting them, reading with them."""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec
from starlette.responses import Response

from ottla.base.errors import ConfigError
from ottla.client.consumer_record import ConsumerRecord
from ottla.config.kinds import Long
from ottla.http.rest.v2.declare import BINARY, EMBEDDED, JSON, PLAIN_TYPE, route
from ottla.http.rest.v2.instances import Instance
from ottla.http.server.answers import encoded
from ottla.http.server.call import Call, joined
from ottla.http.server.errors import HttpError
from ottla.http.server.routes import Query

_MOST_WAIT_MS: Final = 300_000


class CreateInstanceRequest(msgspec.Struct):
    """How a consumer instance shall be."""

    name: str | None = None
    id: str | None = None
    format: str = BINARY
    auto_offset_reset: str | None = msgspec.field(name="auto.offset.reset", default=None)
    auto_commit_enable: bool | str | None = msgspec.field(name="auto.commit.enable", default=None)
    fetch_min_bytes: int | None = msgspec.field(name="fetch.min.bytes", default=None)
    request_timeout_ms: int | None = msgspec.field(name="consumer.request.timeout.ms", default=None)


class CreateInstanceResponse(msgspec.Struct):
    """The instance that was made."""

    instance_id: str
    base_uri: str


class V2ConsumerRecord(msgspec.Struct):
    """A record that was read."""

    topic: str
    key: Any
    value: Any
    partition: int
    offset: int


async def find_instance(call: Call) -> Instance:
    """The instance of the path."""
    label = (await call.link()).label
    return call.services.instances.find(
        label, call.path["group"], call.path["instance"], call.caller
    )


async def create_instance(call: Call) -> CreateInstanceResponse:
    """Make an instance."""
    wanted: CreateInstanceRequest = await call.body() or CreateInstanceRequest()
    form = wanted.format.lower()
    if form in ("avro", "jsonschema", "protobuf"):
        raise HttpError(
            422, f"{form} needs a schema registry, and schema.registry.url is not set", code=42204
        )
    if form not in (BINARY, JSON):
        raise HttpError(422, "Invalid format type.", code=422)
    link, group = await call.link(), call.path["group"]
    name = call.services.instances.name_for(link.label, group, wanted.name or wanted.id)
    try:
        consumer = link.consumer(call.caller, **_consumer_settings(wanted, group, name))
    except ConfigError as flaw:
        raise HttpError(422, f"Invalid consumer configuration: {flaw}", code=42204) from None
    wait_ms = wanted.request_timeout_ms
    instance = call.services.instances.add(
        (link.label, group, name), form, call.caller, consumer, wait_ms
    )
    instance.min_bytes = max(1, wanted.fetch_min_bytes or 1)
    uri = f"{call.base_url}/consumers/{joined(group)}/instances/{joined(name)}"
    return CreateInstanceResponse(name, uri)


def _consumer_settings(wanted: CreateInstanceRequest, group: str, name: str) -> dict[str, str]:
    settings = {
        "group_id": group,
        "client_id": name,
        # One reader, which may be slow: little is fetched ahead.
        "fetch_max_bytes": str(4 << 20),
        "max_partition_fetch_bytes": str(1 << 20),
    }
    if wanted.auto_offset_reset is not None:
        settings["auto_offset_reset"] = wanted.auto_offset_reset
    if wanted.auto_commit_enable is not None:
        settings["enable_auto_commit"] = str(wanted.auto_commit_enable).lower()
    return settings


async def delete_instance(call: Call) -> None:
    """Close an instance."""
    instance = await find_instance(call)
    async with instance.lock:
        await call.services.instances.remove((await call.link()).label, instance)


async def read_records(call: Call) -> Response:
    """Return the next records."""
    instance = await find_instance(call)
    content_type = _chosen_type(call, instance)
    within_ms, most_bytes = call.query["timeout"], call.query["max_bytes"]
    limit = call.services.settings.consumer_max_bytes
    if within_ms < 0:
        within_ms = instance.wait_ms
    async with instance.lock:
        if not instance.subscribed and not instance.consumer.assignment():
            raise HttpError(
                409, "Illegal state: Consumer is not subscribed to any topics or assigned any partitions",
                code=40903,
            )  # fmt: skip
        records = await instance.read(
            min(within_ms, _MOST_WAIT_MS),
            min(most_bytes, limit) if most_bytes > 0 else limit,
            instance.min_bytes,
        )
        try:
            body = encoded([_shown(each, instance.format) for each in records])
        except HttpError:
            instance.put_back(records)
            raise
    return Response(body, 200, media_type=content_type)


def _chosen_type(call: Call, instance: Instance) -> str:
    """The content type of the instance's format, if the caller takes it."""
    own = next(name for name, form in EMBEDDED.items() if form == instance.format)
    accepted = [
        part.partition(";")[0].strip().lower()
        for part in call.request.headers.get("accept", "*/*").split(",")
    ]
    plain = ("*/*", "application/*", "application/json", PLAIN_TYPE)
    if own in accepted:
        return own
    if any(each in plain for each in accepted):
        return own
    raise HttpError(
        406,
        "The requested embedded data format does not match the deserializer for this consumer instance",
        code=40601,
    )


def _shown(record: ConsumerRecord, form: str) -> V2ConsumerRecord:
    return V2ConsumerRecord(
        record.topic,
        _value(record.key, form, record),
        _value(record.value, form, record),
        record.partition,
        record.offset,
    )


def _value(data: bytes | None, form: str, record: ConsumerRecord) -> Any:
    if data is None:
        return None
    if form == BINARY:
        return base64.b64encode(data).decode("ascii")
    try:
        # Decoded, not only checked: a document in another encoding would break the answer.
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        where = f"{record.topic}-{record.partition} at offset {record.offset}"
        raise HttpError(
            422, f"the record of {where} is no JSON; read it with format binary, or seek past it",
            code=42203,
        ) from None  # fmt: skip


_INSTANCE: Final = "/consumers/{group}/instances/{instance}"
_READ: Final = (
    Query(
        "timeout", Long(-1), "How many ms to wait for records; -1 is what the instance says.", -1
    ),
    Query("max_bytes", Long(-1), "How many bytes of keys and values at most.", -1),
)
ROUTES: Final = (
    route("POST", "/consumers/{group}", create_instance, "Create a consumer instance",
          body=CreateInstanceRequest, answer=CreateInstanceResponse, optional_body=True),
    route("DELETE", _INSTANCE, delete_instance, "Delete a consumer instance"),
    route("GET", f"{_INSTANCE}/records", read_records, "Read the next records", query=_READ,
          answer=list[V2ConsumerRecord]),
)  # fmt: skip
