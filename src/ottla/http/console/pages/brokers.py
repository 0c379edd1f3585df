"""/ui/brokers and /ui/brokers/{broker}: who leads what, disks, settings."""

from __future__ import annotations

from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.client.administration.configs import ConfigResource, ResourceType
from ottla.http.console.commands import admin_python, copies, quoted
from ottla.http.console.render import page
from ottla.http.rest.v3.brokers import find_broker
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Route


@page("brokers.html", "brokers")
async def brokers(call: Call) -> dict[str, Any]:
    """Return what the page of all brokers shows."""
    link, admin = await call.link(), await call.admin()
    cluster = await admin.describe_cluster(include_fenced=False)
    topics = await admin.list_topics()
    partitions = [each for topic in topics.values() for each in topic.partitions]
    dirs = await admin.describe_log_dirs([each.id for each in cluster.brokers])
    rows = [
        {
            "broker": each,
            "leads": sum(p.leader == each.id for p in partitions),
            "replicas": sum(each.id in p.replicas for p in partitions),
            "lagging": sum(each.id in p.replicas and each.id not in p.isr for p in partitions),
            "size": sum(
                replica.size_bytes
                for found in dirs.get(each.id, {}).values()
                if not isinstance(found, ApiError)
                for replica in found.replicas.values()
            ),
        }
        for each in cluster.brokers
    ]
    return {
        "title": "Brokers",
        "cluster": cluster,
        "rows": rows,
        "partitions": max(1, len(partitions)),
        "copies": copies(
            link.bootstrap,
            "ottla brokers list",
            quoted(f"{call.base_url}/v3/clusters/{cluster.cluster_id}/brokers"),
            admin_python("describe_cluster()"),
        ),
    }


@page("broker.html", "brokers")
async def broker(call: Call) -> dict[str, Any]:
    """Return what the page of one broker shows."""
    link, admin, found = await call.link(), await call.admin(), await find_broker(call)
    resource = ConfigResource(ResourceType.BROKER, str(found.id))
    configs = (await admin.describe_configs([resource], include_documentation=True))[resource]
    entries = [] if isinstance(configs, ApiError) else list(configs.values())
    return {
        "title": f"Broker {found.id}",
        "broker": found,
        "dirs": (await admin.describe_log_dirs([found.id]))[found.id],
        "configs": sorted(entries, key=lambda each: (each.is_default, each.name)),
        "is_error": lambda each: isinstance(each, ApiError),
        "copies": copies(
            link.bootstrap,
            f"ottla brokers describe {found.id}",
            quoted(
                f"{call.base_url}/v3/clusters/{await call.cluster_id()}/brokers/{found.id}/configs"
            ),
            admin_python(f"describe_log_dirs([{found.id}])"),
        ),
    }


ROUTES: Final = (
    Route("GET", "/ui/brokers", brokers, "Brokers", "", Dialect.OWN),
    Route("GET", "/ui/brokers/{broker_id}", broker, "Broker", "", Dialect.OWN),
)
