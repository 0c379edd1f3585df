"""All routes of v2."""

from __future__ import annotations

from typing import Final

from ottla.http.rest.v2 import consumers, positions, produce, topics
from ottla.http.server.routes import Route

ROUTES: Final[tuple[Route, ...]] = (
    *topics.ROUTES,
    *produce.ROUTES,
    *consumers.ROUTES,
    *positions.ROUTES,
)
