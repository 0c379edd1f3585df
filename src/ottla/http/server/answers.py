"""From what a handler returns to a response: JSON, no content, or a stream that waits for its reader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ottla.http.server.errors import Dialect, HttpError, rendered
from ottla.http.server.routes import Route

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def encoded(value: Any) -> bytes:
    """A value as JSON."""
    return _ENCODER.encode(value)


def answer_of(value: Any, route: Route) -> Response:
    """The response for what a handler returned."""
    if isinstance(value, Response):
        return value
    if value is None:
        return Response(status_code=route.status)
    return Response(encoded(value), route.status, media_type=route.gives[0])


def refusal(error: HttpError, dialect: Dialect) -> Response:
    """The response for what went wrong."""
    body, content_type = rendered(error, dialect)
    return Response(encoded(body), error.status, error.headers, content_type)


def stream(
    chunks: AsyncIterator[bytes],
    content_type: str,
    *,
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """A response that is produced as fast as it is read."""
    return StreamingResponse(chunks, 200, dict(headers or {}), content_type)


class DuplexResponse(StreamingResponse):
    """A stream that is sent while the body of the request still arrives.

    Starlette's own would listen for the end of the connection, and so take the body away from its reader; that reader
    hears of the end itself.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        await self.stream_response(send)
