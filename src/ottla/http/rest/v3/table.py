"""All routes of v3."""

from __future__ import annotations

from typing import Final

from ottla.http.rest.v3 import (
    acls,
    brokers,
    clusters,
    configs,
    consumer_groups,
    consumer_lags,
    partitions,
    produce,
    produce_batch,
    reassignments,
    topics,
)
from ottla.http.server.routes import Route

ROUTES: Final[tuple[Route, ...]] = (
    *clusters.ROUTES,
    *brokers.ROUTES,
    *configs.ROUTES,
    *topics.ROUTES,
    *partitions.ROUTES,
    *reassignments.ROUTES,
    *consumer_groups.ROUTES,
    *consumer_lags.ROUTES,
    *acls.ROUTES,
    *produce.ROUTES,
    *produce_batch.ROUTES,
)
