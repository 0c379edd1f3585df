"""/openapi.json and /docs/: nothing is loaded from elsewhere."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.responses import Response

from ottla.http.server.answers import encoded
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Route
from ottla.http.server.safety import PAGE_POLICY

_TYPES: Final = {
    "docs.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
}


async def openapi(call: Call) -> Response:
    """Return the description of the API."""
    return Response(_description(), media_type="application/json")


@cache
def _description() -> bytes:
    from ottla.http.application import ROUTES as ALL
    from ottla.http.server.openapi import document

    return encoded(document(ALL, title="ottla REST"))


async def page(call: Call) -> Response:
    """Return the page."""
    headers = {"content-security-policy": PAGE_POLICY}
    return Response(_file("index.html"), 200, headers, "text/html; charset=utf-8")


async def asset(call: Call) -> Response:
    """Return a file of the page."""
    name = call.path["name"]
    if name not in _TYPES:
        raise HttpError(404, "there is no such file")
    return Response(_file(name), 200, {"cache-control": "max-age=300"}, _TYPES[name])


@cache
def _file(name: str) -> bytes:
    return (files(__package__) / "static" / name).read_bytes()


ROUTES: Final = (
    Route("GET", "/openapi.json", openapi, "The description of the API", "", Dialect.OWN),
    Route("GET", "/docs/", page, "The page to try it", "", Dialect.OWN),
    Route("GET", "/docs/{name}", asset, "A file of the page", "", Dialect.OWN),
)  # fmt: skip
