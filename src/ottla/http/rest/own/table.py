"""All routes that v3 lacks."""

from __future__ import annotations

from typing import Final

from ottla.http.rest.own import (
    access,
    group_offsets,
    moves,
    pipelines,
    records,
    sizes,
    transactions,
)
from ottla.http.server.routes import Route

ROUTES: Final[tuple[Route, ...]] = (
    *records.ROUTES,
    *group_offsets.ROUTES,
    *moves.ROUTES,
    *transactions.ROUTES,
    *access.ROUTES,
    *sizes.ROUTES,
    *pipelines.ROUTES,
)
