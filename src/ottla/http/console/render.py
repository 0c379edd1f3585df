"""From a template and what it is given to a page; what goes wrong becomes a page, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from ottla.base.errors import OttlaError
from ottla.http.console.charts import chart, spark
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError, as_http
from ottla.http.server.safety import PAGE_POLICY
from ottla.inspection.human_units import counted, iso, short_duration, short_size

if TYPE_CHECKING:
    from jinja2 import Environment

    from ottla.http.clusters.link import Link

UNAVAILABLE: Final = 503


class Page(NamedTuple):
    """An entry of the navigation."""

    path: str
    name: str
    key: str


PAGES: Final = (
    Page("", "Overview", "o"),
    Page("topics", "Topics", "t"),
    Page("groups", "Groups", "g"),
    Page("brokers", "Brokers", "b"),
    Page("find", "Find", "f"),
    Page("doctor", "Doctor", "d"),
    Page("audit", "Audit", "a"),
)
View = Callable[[Call], Awaitable[dict[str, Any]]]


def page(template: str, here: str) -> Callable[[View], Callable[[Call], Awaitable[Response]]]:
    """Make a handler of a function that returns what its template needs; `title` is among it."""

    def decorate(view: View) -> Callable[[Call], Awaitable[Response]]:
        @wraps(view)
        async def handler(call: Call) -> Response:
            try:
                link = await call.link()
            except HttpError as error:
                return _problem(call, call.services.clusters.first, here, error)
            try:
                return _rendered(call, link, template, here, await view(call))
            except OttlaError as error:
                return _problem(call, link, here, as_http(error))

        return handler

    return decorate


def _problem(call: Call, link: Link, here: str, error: HttpError) -> Response:
    context = {"title": "Not now" if error.status == UNAVAILABLE else "No", "error": error,
               "again": error.status == UNAVAILABLE}  # fmt: skip
    return _rendered(call, link, "problem.html", here, context, error.status)


def _rendered(
    call: Call, link: Link, template: str, here: str, context: dict[str, Any], status: int = 200
) -> Response:
    labels = [each.label for each in call.services.clusters]
    suffix = f"?cluster={quote(link.label)}" if len(labels) > 1 else ""

    def ui(path: str = "") -> str:
        joint = "&" if "?" in path else "?"
        return f"/ui/{path}" + (suffix.replace("?", joint) if suffix else "")

    text = (
        _environment()
        .get_template(template)
        .render(
            pages=PAGES,
            here=here,
            label=link.label,
            labels=labels,
            colour=link.colour,
            bootstrap=link.bootstrap,
            read_only=call.services.settings.read_only,
            ui=ui,
            **context,
        )
    )
    headers = {"content-security-policy": PAGE_POLICY}
    return Response(text, status, headers, "text/html; charset=utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("ottla.http.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"again": False, "copies": [], "spark": spark, "chart": chart}
    made.filters |= {
        "size": short_size,
        "number": number,
        "rate": rate,
        "iso": iso,
        "path": lambda text: quote(str(text), safe=""),
        "duration": short_duration,
        "counted": counted,
    }
    return made


def number(value: float | None) -> str:
    """A whole number with its thousands apart; - where there is none."""
    return "-" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def rate(value: float) -> str:
    """So many a second."""
    if value >= 10 or value == 0:
        return f"{number(value)}/s"
    return f"{value:.1f}/s"
