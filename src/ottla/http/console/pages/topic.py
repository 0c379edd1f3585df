"""/ui/topics/{topic}: partitions over brokers, settings, and who reads it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.configs import ConfigEntry, ConfigResource, ResourceType
from ottla.client.view import Partition
from ottla.http.console.commands import admin_python, copies, quoted, stream_python
from ottla.http.console.render import page
from ottla.http.rest.v3.partitions import find_topic
from ottla.http.sampling.series import Series
from ottla.http.server.call import Call, joined
from ottla.http.server.errors import Dialect
from ottla.http.server.routes import Route
from ottla.inspection.sizes import Span, spans

_MOST_GROUPS: Final = 300


class PartitionRow(NamedTuple):
    """A partition with what it holds."""

    partition: Partition
    span: Span | None
    size: int | None


class Reader(NamedTuple):
    """A group that reads the topic."""

    group: str
    lag: int


@page("topic.html", "topics")
async def topic(call: Call) -> dict[str, Any]:
    """Return what the page shows."""
    link, admin, found = await call.link(), await call.admin(), await find_topic(call)
    samples = call.services.sampler.of(link.label)
    places = [
        TopicPartition(found.name, each.index) for each in found.partitions if each.leader >= 0
    ]
    held = await spans(admin, places) if places else {}
    rows = [
        PartitionRow(each, held.get(at), samples.sizes.get(at))
        for each in found.partitions
        for at in [TopicPartition(found.name, each.index)]
    ]
    address = f"/v3/clusters/{await call.cluster_id()}/topics/{joined(found.name)}"
    return {
        "title": found.name,
        "topic": found,
        "rows": rows,
        "brokers": sorted({broker for each in found.partitions for broker in each.replicas}),
        "records": sum(span.end - span.begin for span in held.values()),
        "size": sum(row.size or 0 for row in rows),
        "lacking": sum(len(each.isr) < len(each.replicas) for each in found.partitions),
        "series": samples.topic_records.get(found.name, Series()),
        "configs": await _configs(call, found.name),
        "readers": await _readers(call, found.name, held),
        "address": address,
        "copies": copies(
            link.bootstrap,
            f"ottla topics describe {found.name}",
            quoted(call.base_url + address),
            admin_python(f"describe_topics([{found.name!r}])"),
            stream_python(found.name),
        ),
    }


async def _configs(call: Call, name: str) -> list[ConfigEntry]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    found = await (await call.admin()).describe_configs(
        [resource], include_documentation=True, include_synonyms=True
    )
    entries = found[resource]
    if isinstance(entries, ApiError):
        return []
    return sorted(entries.values(), key=lambda each: (each.is_default, each.name))


async def _readers(call: Call, name: str, held: dict[TopicPartition, Span]) -> list[Reader]:
    """The groups that have committed for the topic, those that are furthest behind first."""
    admin = await call.admin()
    found = []
    for group in (await admin.list_groups(protocol_types=("consumer", "")))[:_MOST_GROUPS]:
        try:
            offsets = await admin.list_group_offsets(group.group_id, list(held))
        except ApiError:
            continue
        lags = [
            max(0, held[at].end - each.offset)
            for at, each in offsets.items()
            if not isinstance(each, ApiError) and each.offset >= 0 and at in held
        ]
        if lags:
            found.append(Reader(group.group_id, sum(lags)))
    return sorted(found, key=lambda each: -each.lag)


ROUTES: Final = (Route("GET", "/ui/topics/{topic_name}", topic, "Topic", "", Dialect.OWN),)
