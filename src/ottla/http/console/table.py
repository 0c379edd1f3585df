"""All pages, their files, and the way there from the root."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.responses import RedirectResponse, Response

from ottla.http.console.pages import (
    audit,
    brokers,
    doctor,
    find,
    group,
    groups,
    overview,
    records,
    topic,
    topics,
)
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect, HttpError
from ottla.http.server.routes import Route

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


async def static(call: Call) -> Response:
    """Return a file that pages load."""
    name = call.path["name"]
    content_type = _TYPES.get(name.rpartition(".")[2])
    if content_type is None or name not in _names():
        raise HttpError(404, "there is no such file")
    return Response(_file(name), 200, {"cache-control": "no-cache"}, content_type)


async def root(call: Call) -> Response:
    """Lead a browser to the console, and give a program what v2 gives."""
    if "text/html" in call.request.headers.get("accept", ""):
        return RedirectResponse("/ui/", 307)
    return Response(b"{}", 200, media_type="application/vnd.kafka.v2+json")


@cache
def _names() -> frozenset[str]:
    return frozenset(each.name for each in (files(__package__) / "static").iterdir())


@cache
def _file(name: str) -> bytes:
    return (files(__package__) / "static" / name).read_bytes()


ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", "/", root, "Root", "", Dialect.OWN),
    Route("GET", "/ui/static/{name}", static, "A file", "", Dialect.OWN),
    *overview.ROUTES,
    *topics.ROUTES,
    *topic.ROUTES,
    *records.ROUTES,
    *groups.ROUTES,
    *group.ROUTES,
    *brokers.ROUTES,
    *doctor.ROUTES,
    *find.ROUTES,
    *audit.ROUTES,
)
