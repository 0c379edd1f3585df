"""One request on its way to its handler: who calls, which cluster is meant, what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.requests import ClientDisconnect, Request

from ottla.http.server.errors import HttpError
from ottla.http.server.routes import Route

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.http.clusters.link import Link
    from ottla.http.server.callers import Caller
    from ottla.http.services import Services

_MOST_PARAMETERS: Final = 100


class Call:
    """What a handler gets."""

    def __init__(
        self,
        request: Request,
        route: Route,
        path: Mapping[str, str],
        services: Services,
        caller: Caller,
    ) -> None:
        self.request = request
        self.route = route
        self.path = path
        self.services = services
        self.caller = caller
        self.query = self._read_query()
        self._link: Link | None = None

    # --- the cluster that is meant

    async def link(self) -> Link:
        """The cluster of the path's id, or of ?cluster=LABEL, else the first one."""
        if self._link is None:
            clusters = self.services.clusters
            wanted = self.path.get("cluster_id")
            if wanted is not None:
                self._link = await clusters.by_id(wanted, self.caller)
            else:
                self._link = clusters.by_label(self.request.query_params.get("cluster"))
        return self._link

    async def admin(self) -> Admin:
        """An admin client of it that acts as the caller."""
        return (await self.link()).admin(self.caller)

    async def cluster_id(self) -> str:
        """The id of that cluster."""
        return await (await self.link()).cluster_id(self.caller)

    # --- what was said

    @property
    def base_url(self) -> str:
        """The address by which the caller reached this service."""
        return f"{self.request.url.scheme}://{self.request.headers.get('host', 'localhost')}"

    def number(self, name: str, *, most: int = 2**31 - 1) -> int:
        """A whole number of the path; 404 where there can be none of it."""
        text = self.path[name]
        if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) > most:
            raise HttpError(404, f"{name} is a whole number, not {text[:100]}", code=404)
        return int(text)

    def _read_query(self) -> dict[str, Any]:
        """The parameters that the route knows; others are passed over, as every server does."""
        try:
            pairs = parse_qsl(
                self.request.scope["query_string"].decode("ascii"),
                keep_blank_values=True,
                max_num_fields=_MOST_PARAMETERS,
                errors="strict",
            )
        except ValueError:
            raise HttpError(400, "the query of the address cannot be read") from None
        said = dict(pairs)
        found = {}
        for each in self.route.query:
            text = said.get(each.name)
            # What a form leaves empty is not said.
            if not text:
                if each.required:
                    raise HttpError(400, f"the parameter {each.name} is missing", code=400)
                found[each.name] = each.default
                continue
            try:
                found[each.name] = each.kind.parse(text)
            except ValueError as flaw:
                raise HttpError(400, f"{each.name} {flaw}", code=400, parameter=each.name) from None
        return found

    # --- the body

    async def body(self) -> Any:
        """The body as the type that the route declares; None where there is none and none is needed."""
        self._check_content_type()
        data = await self.raw_body()
        if not data and self.route.optional_body:
            return None
        return decoded(data, self.route.body, lenient=self.route.dialect.value == "v2")

    async def raw_body(self) -> bytes:
        """All of the body, unless it is too long or too slow."""
        limit = self.services.settings.max_request_bytes
        declared = self.request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit:
            raise _too_large(limit)
        received = bytearray()
        try:
            async with asyncio.timeout(self.services.settings.request_timeout_ms / 1000):
                async for chunk in self.request.stream():
                    received += chunk
                    if len(received) > limit:
                        raise _too_large(limit)
        except TimeoutError:
            raise HttpError(408, "the body of the request did not arrive in time") from None
        except ClientDisconnect:
            raise HttpError(400, "the connection ended within the body of the request") from None
        return bytes(received)

    async def body_chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes; nothing is read ahead of whoever takes it."""
        self._check_content_type()
        within_s = self.services.settings.request_timeout_ms / 1000
        chunks = self.request.stream()
        while True:
            try:
                async with asyncio.timeout(within_s):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise HttpError(408, "the rest of the body did not arrive in time") from None
            except ClientDisconnect:
                return
            if chunk is None:
                return
            if chunk:
                yield chunk

    def _check_content_type(self) -> None:
        given = self.request.headers.get("content-type", "")
        name = given.partition(";")[0].strip().lower()
        if name and name not in self.route.takes:
            shown = ", ".join(self.route.takes)
            raise HttpError(415, f"the content type {name[:100]} is not taken here; send {shown}")


def decoded(data: bytes, kind: Any, *, lenient: bool = False) -> Any:
    """JSON as a type; 400 where it is no JSON, 422 where it is another one."""
    try:
        return msgspec.json.decode(data, type=kind, strict=not lenient)
    except msgspec.ValidationError as flaw:
        raise HttpError(422, f"the body of the request is not as it should be: {flaw}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as flaw:
        raise HttpError(400, f"the body of the request is no JSON: {flaw}") from None


def joined(*segments: str | int) -> str:
    """Segments of a path, each encoded."""
    return "/".join(quote(str(each), safe=":-._~") for each in segments)


def _too_large(limit: int) -> HttpError:
    return HttpError(
        413,
        f"the body of the request is longer than {limit} bytes (ottla.http.max.request.bytes)",
        code=413,
    )
