"""/ui/topics: all topics, searched, sorted and in pages; and the form that makes one."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ottla.client.view import Topic
from ottla.config.kinds import Bool, Int, OneOf, OptionalText
from ottla.http.console.commands import admin_python, copies, quoted
from ottla.http.console.render import page
from ottla.http.sampling.samples import Samples
from ottla.http.sampling.series import Series
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Query, Route

_ROWS: Final = 50


class Row(NamedTuple):
    """A topic of the list."""

    topic: Topic
    lacking: int
    size: int | None
    series: Series


@page("topics.html", "topics")
async def topics(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    link, admin = await call.link(), await call.admin()
    said, found = call.query, await admin.list_topics(include_internal=call.query["internal"])
    wanted = (said["q"] or "").lower()
    samples = call.services.sampler.of(link.label)
    rows = [_row(topic, samples) for name, topic in found.items() if wanted in name.lower()]
    rows.sort(key=_order(said["sort"]))
    last = max(1, -(-len(rows) // _ROWS))
    number = min(said["page"], last)
    return {
        "title": "Topics",
        "rows": rows[(number - 1) * _ROWS : number * _ROWS],
        "total": len(rows),
        "number": number,
        "last": last,
        "said": said,
        "create": f"/v3/clusters/{await call.cluster_id()}/topics",
        "copies": copies(
            link.bootstrap,
            "ottla topics list --long",
            quoted(f"{call.base_url}/v3/clusters/{await call.cluster_id()}/topics"),
            admin_python("list_topics()"),
        ),
    }


def _row(topic: Topic, samples: Samples) -> Row:
    lacking = sum(len(each.isr) < len(each.replicas) for each in topic.partitions)
    sizes = [
        samples.sizes[at]
        for each in topic.partitions
        if (at := (topic.name, each.index)) in samples.sizes
    ]  # fmt: skip
    series = samples.topic_records.get(topic.name, Series())
    return Row(topic, lacking, sum(sizes) if sizes else None, series)


def _order(by: str) -> Any:
    return {
        "name": lambda row: row.topic.name,
        "partitions": lambda row: (-len(row.topic.partitions), row.topic.name),
        "size": lambda row: (-(row.size or 0), row.topic.name),
        "rate": lambda row: (-row.series.now, row.topic.name),
    }[by]


_QUERY: Final = (
    Query("q", OptionalText(), "Part of the name."),
    Query("sort", OneOf("name", "partitions", "size", "rate"), "In which order.", "name"),
    Query("page", Int(1, 1_000_000), "Which page.", 1),
    Query("internal", Bool(), "Internal topics, too.", False),
)
ROUTES: Final = (Route("GET", "/ui/topics", topics, "Topics", "", Dialect.OWN, _QUERY),)
