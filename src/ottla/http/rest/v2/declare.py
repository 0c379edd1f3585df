"""How routes of v2 are written down, and the content types that carry keys and values."""

from __future__ import annotations

from typing import Any, Final

from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Handler, Query, Route

BINARY: Final = "binary"
JSON: Final = "json"
PLAIN_TYPE: Final = "application/vnd.kafka.v2+json"
EMBEDDED: Final = {
    "application/vnd.kafka.binary.v2+json": BINARY,
    "application/vnd.kafka.json.v2+json": JSON,
}
WITH_SCHEMA: Final = (
    "application/vnd.kafka.avro.v2+json",
    "application/vnd.kafka.jsonschema.v2+json",
    "application/vnd.kafka.protobuf.v2+json",
)
_TAKES: Final = (PLAIN_TYPE, *EMBEDDED, "application/json", "application/octet-stream")
TAG: Final = "REST Proxy v2"


def route(
    method: str,
    path: str,
    handler: Handler,
    summary: str,
    *,
    query: tuple[Query, ...] = (),
    body: Any = None,
    answer: Any = None,
    **more: Any,
) -> Route:
    """A route of v2: 204 where it answers nothing."""
    status = 204 if answer is None else 200
    return Route(
        method, path, handler, summary, TAG, Dialect.V2, query, body, answer, status, _TAKES,
        (PLAIN_TYPE,), **more,
    )  # fmt: skip


def embedded_format(call: Call) -> str:
    """How keys and values are encoded in the body, by its content type."""
    given = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given in WITH_SCHEMA:
        raise no_registry(given)
    return EMBEDDED.get(given, BINARY)


def no_registry(content_type: str) -> HttpError:
    """Schemas are kept nowhere."""
    return HttpError(
        415, f"{content_type} needs a schema registry, and schema.registry.url is not set", code=415
    )
