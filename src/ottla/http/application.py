"""All routes of `ottla http`, and the application that serves them."""

from __future__ import annotations

import socket
from typing import Final

from ottla.http import health, metrics
from ottla.http.console.table import ROUTES as CONSOLE
from ottla.http.docs import page as docs_page
from ottla.http.rest.own.table import ROUTES as OWN
from ottla.http.rest.v2.table import ROUTES as V2
from ottla.http.rest.v3.table import ROUTES as V3
from ottla.http.server.app import App
from ottla.http.server.routes import Route
from ottla.http.server.safety import Guard
from ottla.http.services import Services
from ottla.http.settings import HttpSettings

ROUTES: Final[tuple[Route, ...]] = (
    *V3,
    *OWN,
    *V2,
    *health.ROUTES,
    *metrics.ROUTES,
    *docs_page.ROUTES,
    *CONSOLE,
)


def make_app(settings: HttpSettings) -> App:
    """The application, with clients of the clusters that are opened when they are first needed."""
    own = [each.host for each in settings.listeners if each.host not in ("", "0.0.0.0", "::")]
    guard = Guard((*own, socket.gethostname(), *settings.allowed_hosts), settings.allowed_origins)
    return App(Services(settings), ROUTES, guard)
