"""/metrics of the whole cluster, for Prometheus: what the wire protocol tells of brokers, topics and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from starlette.responses import Response

from ottla.base.errors import ApiError, OttlaError
from ottla.base.metrics import CONTENT_TYPE
from ottla.client.admin import Admin
from ottla.http.clusters.link import Link
from ottla.http.sampling.samples import SERVICE, Samples
from ottla.http.server.call import Call
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Route
from ottla.inspection.offset_moves import committed_offsets

_MOST_GROUPS: Final = 1000
_DOCS: Final = {
    "ottla_cluster_up": "Whether the cluster answers.",
    "ottla_cluster_brokers": "Brokers that are there.",
    "ottla_cluster_controller": "The id of the controller.",
    "ottla_cluster_topics": "Topics.",
    "ottla_cluster_partitions": "Partitions.",
    "ottla_cluster_under_replicated_partitions": "Partitions with a replica that is not in sync.",
    "ottla_cluster_offline_partitions": "Partitions that nobody leads.",
    "ottla_cluster_broker_leaders": "Partitions that a broker leads.",
    "ottla_cluster_topic_end_offsets": "The sum of the end offsets of a topic's partitions.",
    "ottla_cluster_topic_bytes": "Bytes of a topic on disk, of the largest replica each.",
    "ottla_cluster_group_lag": "How many offsets a group is behind in a topic.",
    "ottla_http_consumer_instances": "v2 consumer instances of this service.",
}
Row = tuple[str, dict[str, Any], float]


async def metrics(call: Call) -> Response:
    """Return all metrics as Prometheus reads them."""
    rows: list[Row] = [("ottla_http_consumer_instances", {}, len(call.services.instances))]
    for link in call.services.clusters:
        rows += await _cluster(link, call.services.sampler.of(link.label))
    return Response(_text(rows), media_type=CONTENT_TYPE)


async def _cluster(link: Link, samples: Samples) -> list[Row]:
    label = {"cluster": link.label}
    try:
        admin = link.admin(SERVICE)
        found = [*await _brokers(admin, label), *await _groups(admin, label, samples)]
    except OttlaError:
        return [("ottla_cluster_up", label, 0)]
    return [("ottla_cluster_up", label, 1), *found, *_topics(label, samples)]


async def _brokers(admin: Admin, label: dict[str, Any]) -> list[Row]:
    cluster, topics = await admin.describe_cluster(), await admin.list_topics()
    partitions = [each for topic in topics.values() for each in topic.partitions]
    leaders = {each.id: 0 for each in cluster.brokers}
    for each in partitions:
        if each.leader in leaders:
            leaders[each.leader] += 1
    lacking = sum(len(each.isr) < len(each.replicas) for each in partitions)
    return [
        ("ottla_cluster_brokers", label, len(cluster.brokers)),
        ("ottla_cluster_controller", label, cluster.controller_id),
        ("ottla_cluster_topics", label, len(topics)),
        ("ottla_cluster_partitions", label, len(partitions)),
        ("ottla_cluster_under_replicated_partitions", label, lacking),
        ("ottla_cluster_offline_partitions", label, sum(each.leader < 0 for each in partitions)),
        *(("ottla_cluster_broker_leaders", {**label, "broker": b}, n) for b, n in leaders.items()),
    ]


def _topics(label: dict[str, Any], samples: Samples) -> Iterator[Row]:
    for name, counts in (
        ("ottla_cluster_topic_end_offsets", samples.ends),
        ("ottla_cluster_topic_bytes", samples.sizes),
    ):
        sums: dict[str, int] = {}
        for at, count in counts.items():
            sums[at.topic] = sums.get(at.topic, 0) + count
        for topic, total in sorted(sums.items()):
            yield name, {**label, "topic": topic}, total


async def _groups(admin: Admin, label: dict[str, Any], samples: Samples) -> list[Row]:
    rows: list[Row] = []
    for group in (await admin.list_groups())[:_MOST_GROUPS]:
        try:
            committed = await committed_offsets(admin, group.group_id)
        except ApiError:
            continue
        lags: dict[str, int] = {}
        for at, offset in committed.items():
            if at in samples.ends:
                lags[at.topic] = lags.get(at.topic, 0) + max(0, samples.ends[at] - offset)
        rows += [
            ("ottla_cluster_group_lag", {**label, "group": group.group_id, "topic": topic}, lag)
            for topic, lag in sorted(lags.items())
        ]
    return rows


def _text(rows: Iterable[Row]) -> str:
    lines: list[str] = []
    told = ""
    for name, labels, value in sorted(rows, key=lambda row: row[0]):
        if name != told:
            told = name
            lines += [f"# HELP {name} {_DOCS[name]}", f"# TYPE {name} gauge"]
        shown = ",".join(f'{key}="{_escaped(str(each))}"' for key, each in labels.items())
        lines.append(f"{name}{{{shown}}} {_number(value)}" if shown else f"{name} {_number(value)}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


ROUTES: Final = (
    Route("GET", "/metrics", metrics, "Metrics of the whole cluster", "Health", Dialect.OWN,
          answer=str, gives=("text/plain",)),
)  # fmt: skip
