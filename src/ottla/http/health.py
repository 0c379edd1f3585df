"""Whether the service lives, and whether it reaches its clusters."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.responses import Response

from ottla.base.errors import OttlaError
from ottla.http.clusters.link import Link
from ottla.http.server.answers import encoded
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Route

_READY_S: Final = 5.0


async def live(call: Call) -> Any:
    """Answer: the process serves requests."""
    return {"status": "live"}


async def ready(call: Call) -> Response:
    """Tell whether each cluster answers; 503 while one of them does not."""
    links = list(call.services.clusters)
    found = await asyncio.gather(*(_state(each, call) for each in links))
    states = dict(zip((each.label for each in links), found, strict=True))
    well = all(each == "ready" for each in found)
    body = encoded({"status": "ready" if well else "not ready", "clusters": states})
    return Response(body, 200 if well else 503, media_type="application/json")


async def _state(link: Link, call: Call) -> str:
    try:
        async with asyncio.timeout(_READY_S):
            await link.admin(call.caller).describe_cluster()
    except TimeoutError:
        return f"does not answer within {_READY_S:g} s"
    except OttlaError as error:
        return str(error)
    return "ready"


ROUTES: Final = (
    Route("GET", "/health/live", live, "Whether the process lives", "Health", Dialect.OWN, answer=dict[str, str]),
    Route("GET", "/health/ready", ready, "Whether the clusters answer", "Health", Dialect.OWN,
          answer=dict[str, Any]),
    Route("GET", "/health", ready, "The same", "Health", Dialect.OWN, answer=dict[str, Any]),
)  # fmt: skip
