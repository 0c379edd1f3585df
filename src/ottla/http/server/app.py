"""The ASGI application: finds the route of a request, calls its handler, renders what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from ottla.base.errors import OttlaError
from ottla.base.log import logger
from ottla.http.server.answers import answer_of, refusal
from ottla.http.server.call import Call
from ottla.http.server.callers import Caller
from ottla.http.server.errors import Dialect, HttpError, as_http
from ottla.http.server.logins import Logins
from ottla.http.server.routes import Found, Route, Router
from ottla.http.server.safety import HEADERS, Guard

if TYPE_CHECKING:
    from ottla.http.services import Services

log = logger(__name__)
_LONGEST_PATH: Final = 4096


class App:
    """All routes, behind the same guard."""

    def __init__(self, services: Services, routes: Iterable[Route], guard: Guard) -> None:
        self.services = services
        self.router = Router(routes)
        self._guard = guard
        self._logins = Logins(services.settings)
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await _lifespan(receive, send)
            return
        request = Request(scope, receive)
        origin = request.headers.get("origin")
        response = await self._respond(request)
        allowed = self._guard.allows(origin)
        await response(scope, receive, _with_headers(send, origin if allowed else None))

    async def _respond(self, request: Request) -> Response:
        dialect = _dialect_of(request.scope["path"])
        try:
            self._guard.check(
                request.method, request.scope["path"], request.headers, request.url.scheme
            )
            raw = request.scope["raw_path"].decode("ascii", "replace")
            if len(raw) > _LONGEST_PATH:
                raise HttpError(414, "the address is too long")
            if request.method == "OPTIONS":
                return self._options(raw)
            found = self.router.find(request.method, raw)
            caller = self._caller(request)
        except HttpError as error:
            return refusal(error, dialect)
        response = await self._handle(request, found, caller)
        if found.route.writes:
            self.services.audit.add(str(caller), request.method, raw, response.status_code)
        return response

    async def _handle(self, request: Request, found: Found, caller: Caller) -> Response:
        route = found.route
        try:
            if route.writes and self.services.settings.read_only:
                raise HttpError(403, "this service changes nothing: ottla.http.read.only is true")
            call = Call(request, route, found.path, self.services, caller)
            if route.unlimited:
                return await self._stream(call, route)
            # The body may take its time, and then the answer.
            within_s = 2 * self.services.settings.request_timeout_ms / 1000
            async with asyncio.timeout(None if route.streamed_body else within_s):
                return answer_of(await route.handler(call), route)
        except TimeoutError:
            return refusal(
                HttpError(
                    504, "this was not done in time (ottla.http.request.timeout.ms)", code=50003
                ),
                route.dialect,
            )
        except OttlaError as error:
            return refusal(as_http(error), route.dialect)
        except Exception as error:
            log.exception("request failed", method=request.method, path=request.scope["path"])
            return refusal(as_http(error), route.dialect)

    async def _stream(self, call: Call, route: Route) -> Response:
        """A stream counts until its last byte, or until its reader has gone."""
        if self._streams >= self.services.settings.max_streams:
            raise HttpError(
                429,
                "too many streams are open (ottla.http.max.streams)",
                headers={"retry-after": "5"},
            )
        self._streams += 1
        try:
            response = answer_of(await route.handler(call), route)
        except BaseException:
            self._streams -= 1
            raise
        if not isinstance(response, StreamingResponse):
            self._streams -= 1
            return response
        response.body_iterator = self._counted(response.body_iterator)
        return response

    async def _counted(self, chunks: Any) -> Any:
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            self._streams -= 1
            await chunks.aclose()

    def _options(self, raw_path: str) -> Response:
        methods = self.router.methods(raw_path)
        if not methods:
            raise HttpError(404, "HTTP 404 Not Found")
        shown = ", ".join((*methods, "OPTIONS"))
        return Response(
            status_code=204,
            headers={
                "allow": shown,
                "access-control-allow-methods": shown,
                "access-control-allow-headers": "authorization, content-type, accept, last-event-id",
                "access-control-max-age": "600",
            },
        )

    def _caller(self, request: Request) -> Caller:
        client = request.client
        address = "unknown" if client is None else client.host
        return self._logins.caller(address, request.scope["path"], request.headers)


def _dialect_of(path: str) -> Dialect:
    """How to refuse what has no route: as the API would whose part of the tree it is."""
    if path.startswith("/v3"):
        return Dialect.V3
    if path.startswith(("/topics", "/consumers", "/brokers")):
        return Dialect.V2
    return Dialect.OWN


def _with_headers(send: Send, origin: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            _add_headers(message, origin)
        await send(message)

    return sending


def _add_headers(message: MutableMapping[str, Any], origin: str | None) -> None:
    headers = MutableHeaders(scope=message)
    present = {name for name, _ in headers.raw}
    headers.raw.extend(pair for pair in HEADERS if pair[0] not in present)
    if b"cache-control" not in present:
        headers["cache-control"] = "no-store"
    if origin is not None:
        headers["access-control-allow-origin"] = origin
        headers["vary"] = "origin"


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
