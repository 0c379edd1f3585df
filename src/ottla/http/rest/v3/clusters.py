"""The clusters: /v3/clusters."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ottla.base.errors import OttlaError
from ottla.client.administration.brokers import ClusterDescription
from ottla.http.rest.v3.declare import CLUSTER, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.server.call import Call


class ClusterData(Resource, kw_only=True):
    """A cluster."""

    cluster_id: str
    controller: Related | None
    acls: Related
    brokers: Related
    broker_configs: Related
    consumer_groups: Related
    topics: Related
    partition_reassignments: Related


async def list_clusters(call: Call) -> Any:
    """Return the clusters that this service knows and reaches."""
    links = list(call.services.clusters)
    found = await asyncio.gather(
        *(link.admin(call.caller).describe_cluster() for link in links), return_exceptions=True
    )
    described = [each for each in found if isinstance(each, ClusterDescription)]
    if not described:
        for each in found:
            if isinstance(each, OttlaError):
                raise each
    data = [_cluster(Links(call, each.cluster_id or ""), each) for each in described]
    url = f"{call.base_url}/v3/clusters"
    return {"kind": "KafkaClusterList", "metadata": {"self": url, "next": None}, "data": data}


async def get_cluster(call: Call) -> ClusterData:
    """Return a cluster."""
    admin = await call.admin()
    return _cluster(await links_of(call), await admin.describe_cluster())


def _cluster(links: Links, found: ClusterDescription) -> ClusterData:
    known = found.controller_id >= 0
    return ClusterData(
        kind="KafkaCluster",
        metadata=links.metadata(""),
        cluster_id=links.cluster_id,
        controller=links.to("brokers", found.controller_id) if known else None,
        acls=links.to("acls"),
        brokers=links.to("brokers"),
        broker_configs=links.to("broker-configs"),
        consumer_groups=links.to("consumer-groups"),
        topics=links.to("topics"),
        partition_reassignments=links.to("topics", "-", "partitions", "-", "reassignment"),
    )


ROUTES: Final = (
    route(
        "GET",
        "/v3/clusters",
        list_clusters,
        "List clusters",
        "Cluster",
        answer=list_of(ClusterData),
    ),
    route("GET", CLUSTER, get_cluster, "Get a cluster", "Cluster", answer=ClusterData),
)
