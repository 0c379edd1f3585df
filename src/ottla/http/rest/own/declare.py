"""How routes of our own are written down; their errors are problem+json."""

from __future__ import annotations

from typing import Any, Final

from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Handler, Query, Route

CLUSTER: Final = "/v3/clusters/{cluster_id}"
TOPIC: Final = f"{CLUSTER}/topics/{{topic_name}}"
GROUP: Final = f"{CLUSTER}/consumer-groups/{{consumer_group_id}}"


def route(
    method: str,
    path: str,
    handler: Handler,
    summary: str,
    tag: str,
    *,
    query: tuple[Query, ...] = (),
    body: Any = None,
    answer: Any = None,
    status: int | None = None,
    **more: Any,
) -> Route:
    """A route of our own: 204 where it answers nothing."""
    if status is None:
        status = 204 if answer is None else 200
    return Route(
        method, path, handler, summary, tag, Dialect.OWN, query, body, answer, status, **more
    )
