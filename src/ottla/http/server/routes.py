"""Routes, each declared once: routing, validation, OpenAPI and the page to try it follow from the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from ottla.config.kinds import Kind
from ottla.http.server.errors import Dialect, HttpError

if TYPE_CHECKING:
    from ottla.http.server.call import Call

Handler: TypeAlias = Callable[["Call"], Awaitable[Any]]
JSON: Final = ("application/json",)
V2_JSON: Final = ("application/vnd.kafka.v2+json", "application/json")


class Query(NamedTuple):
    """A parameter of the query: its kind reads it, and says what is allowed."""

    name: str
    kind: Kind[Any]
    doc: str
    default: Any = None
    required: bool = False


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    summary: str
    tag: str
    dialect: Dialect
    query: tuple[Query, ...] = ()
    body: Any = None
    answer: Any = None
    status: int = 200
    takes: tuple[str, ...] = JSON
    gives: tuple[str, ...] = JSON
    optional_body: bool = False
    streamed_body: bool = False
    unlimited: bool = False
    """Whether the answer may go on for ever: no time limit, counted among the open streams."""
    changes: bool | None = None
    """Whether it changes something: by its method, unless said."""

    @property
    def writes(self) -> bool:
        """Whether a read-only service refuses it."""
        return self.method not in ("GET", "HEAD") if self.changes is None else self.changes


class Found(NamedTuple):
    """The route of a request, and what stands in the path at the places of its parameters."""

    route: Route
    path: Mapping[str, str]


class _Node:
    __slots__ = ("literal", "name", "parameter", "routes")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.name = ""
        self.routes: dict[str, tuple[Route, tuple[str, ...]]] = {}


class Router:
    """Finds routes by the raw path: a name in it may contain an encoded slash."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        self.routes = tuple(routes)
        for route in self.routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node, names = self._root, []
        for segment in route.path.strip("/").split("/"):
            if not segment:
                break  # the root
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.literal.setdefault(segment, _Node())
        assert route.method not in node.routes, f"{route.method} {route.path} is declared twice"
        node.routes[route.method] = (route, tuple(names))

    def find(self, method: str, raw_path: str) -> Found:
        """The route of a request; HttpError says whether the path or the method is unknown."""
        segments = _segments(raw_path)
        matches = list(_matches(self._root, segments, 0, ()))
        for node, values in matches:
            found = node.routes.get("GET" if method == "HEAD" else method)
            if found is not None:
                route, names = found
                return Found(route, dict(zip(names, values, strict=True)))
        if not matches:
            raise HttpError(404, "HTTP 404 Not Found")
        allowed = sorted({name for node, _ in matches for name in node.routes})
        raise HttpError(405, "HTTP 405 Method Not Allowed", headers={"allow": ", ".join(allowed)})

    def methods(self, raw_path: str) -> list[str]:
        """What may be asked of a path."""
        segments = _segments(raw_path)
        return sorted({m for node, _ in _matches(self._root, segments, 0, ()) for m in node.routes})


def _segments(raw_path: str) -> list[str]:
    path = raw_path.strip("/")
    try:
        return [unquote(part, errors="strict") for part in path.split("/")] if path else []
    except UnicodeDecodeError:
        raise HttpError(400, "the address is not UTF-8") from None


def _matches(
    node: _Node, segments: list[str], at: int, values: tuple[str, ...]
) -> Iterable[tuple[_Node, tuple[str, ...]]]:
    """The nodes at the end of a path, those with literal segments first."""
    if at == len(segments):
        if node.routes:
            yield node, values
        return
    literal = node.literal.get(segments[at])
    if literal is not None:
        yield from _matches(literal, segments, at + 1, values)
    if node.parameter is not None and segments[at]:
        yield from _matches(node.parameter, segments, at + 1, (*values, segments[at]))
