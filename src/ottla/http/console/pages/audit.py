"""/ui/audit: who changed what through this service."""

from __future__ import annotations

from typing import Any, Final

from ottla.http.console.render import page
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Route


@page("audit.html", "audit")
async def audit(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    return {"title": "Audit", "lines": list(reversed(call.services.audit.lines))}


ROUTES: Final = (Route("GET", "/ui/audit", audit, "Audit", "", Dialect.OWN),)
