"""/ui/: the cluster at a glance."""

from __future__ import annotations

from typing import Any, Final

from ottla.http.console.commands import admin_python, copies, quoted
from ottla.http.console.render import page
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Route
from ottla.inspection.diagnosis import WELL, cluster_findings
from ottla.inspection.symptoms import cluster_facts

_MOST_TOPICS: Final = 8


@page("overview.html", "")
async def overview(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    link, admin = await call.link(), await call.admin()
    facts = await cluster_facts(admin)
    samples = call.services.sampler.of(link.label)
    partitions = [each for topic in facts.topics.values() for each in topic.partitions]
    leads = {each.id: 0 for each in facts.brokers}
    for each in partitions:
        leads[each.leader] = leads.get(each.leader, 0) + 1
    busy = sorted(
        ((name, series) for name, series in samples.topic_records.items() if name in facts.topics),
        key=lambda item: (-item[1].now, item[0]),
    )
    return {
        "title": "Overview",
        "facts": facts,
        "findings": [each for each in cluster_findings(facts) if each.level != WELL],
        "partitions": len(partitions),
        "lacking": sum(len(each.isr) < len(each.replicas) for each in partitions),
        "leaderless": sum(each.leader < 0 for each in partitions),
        "leads": leads,
        "samples": samples,
        "busy": busy[:_MOST_TOPICS],
        "disks": facts.disks,
        "cluster_id": await call.cluster_id(),
        "copies": copies(
            link.bootstrap,
            "ottla cluster status",
            quoted(f"{call.base_url}/v3/clusters"),
            admin_python("describe_cluster()"),
        ),
    }


ROUTES: Final = (
    Route("GET", "/ui", overview, "Overview", "", Dialect.OWN),
)  # fmt: skip
