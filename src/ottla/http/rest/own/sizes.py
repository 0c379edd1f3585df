"""Sizes, rates, and what the doctor finds."""

from __future__ import annotations

from typing import Final

import msgspec

from ottla.base.errors import ApiError
from ottla.config.kinds import OptionalText
from ottla.http.rest.own.declare import CLUSTER, route
from ottla.http.rest.v3.partitions import find_topic
from ottla.http.sampling.series import Series
from ottla.http.server.call import Call
from ottla.http.server.routes import Query
from ottla.inspection.diagnosis import Finding, cluster_findings, group_findings, topic_findings
from ottla.inspection.sizes import partition_sizes
from ottla.inspection.symptoms import cluster_facts, group_facts, topic_facts

_TAG: Final = "Cluster"


class PartitionSize(msgspec.Struct):
    """How much a partition holds."""

    topic_name: str
    partition_id: int
    size_bytes: int


class SizeList(msgspec.Struct):
    """How much partitions hold; of several replicas the largest."""

    data: list[PartitionSize]
    total_bytes: int


class RatePoint(msgspec.Struct):
    """A rate in one minute."""

    time_ms: int
    per_second: float


class Rates(msgspec.Struct):
    """Rates of a topic, or of all; `minutes` are those of the last hour."""

    name: str
    records_per_second: float
    bytes_per_second: float
    records_minutes: list[RatePoint]
    bytes_minutes: list[RatePoint]


class RateList(msgspec.Struct):
    """Rates, as this service sampled them; `error` says why it could not lately."""

    sampled_ms: int
    error: str | None
    total: Rates
    data: list[Rates]


class FindingData(msgspec.Struct):
    """What was found, how bad it is, and the command that mends it."""

    level: str
    what: str
    mend: str


class FindingList(msgspec.Struct):
    """What the doctor found."""

    data: list[FindingData]


async def list_sizes(call: Call) -> SizeList:
    """Return how much each partition holds on disk."""
    sizes = await partition_sizes(await call.admin())
    data = [PartitionSize(*at, size) for at, size in sorted(sizes.items())]
    return SizeList(data, sum(sizes.values()))


async def list_rates(call: Call) -> RateList:
    """Return how many records and bytes are written, now and in the last hour."""
    samples = call.services.sampler.of((await call.link()).label)
    wanted = call.query["topic"]
    visible = await (await call.admin()).list_topics()
    names = [name for name in samples.topic_records if name in visible and wanted in (None, name)]
    empty = Series()
    return RateList(
        samples.taken_ms,
        samples.error,
        _rates("", samples.records, samples.bytes),
        [
            _rates(name, samples.topic_records[name], samples.topic_bytes.get(name, empty))
            for name in sorted(names)
        ],
    )


async def list_findings(call: Call) -> FindingList:
    """Return what is wrong with the cluster, a topic or a group, and how to mend it."""
    admin = await call.admin()
    found: list[Finding] = list(cluster_findings(await cluster_facts(admin)))
    topic = None
    if call.query["topic"] is not None:
        call.path = {**call.path, "topic_name": call.query["topic"]}
        topic = await find_topic(call)
        found += topic_findings(await topic_facts(admin, topic))
    if call.query["group"] is not None:
        group = (await admin.describe_groups([call.query["group"]]))[call.query["group"]]
        if isinstance(group, ApiError):
            raise group
        facts = await group_facts(admin, group, topic)
        found += group_findings(facts, call.query["topic"])
    return FindingList([FindingData(*each) for each in found])


def _rates(name: str, records: Series, sizes: Series) -> Rates:
    return Rates(
        name,
        records.now,
        sizes.now,
        [RatePoint(*each) for each in records.minutes],
        [RatePoint(*each) for each in sizes.minutes],
    )


_TOPIC: Final = Query("topic", OptionalText(), "Only this topic.")
ROUTES: Final = (
    route("GET", f"{CLUSTER}/sizes", list_sizes, "List sizes of partitions", _TAG, answer=SizeList),
    route("GET", f"{CLUSTER}/rates", list_rates, "List rates of topics", _TAG, query=(_TOPIC,),
          answer=RateList),
    route("GET", f"{CLUSTER}/findings", list_findings, "Find out what is wrong", _TAG,
          query=(_TOPIC._replace(doc="Look into this topic."),
                 Query("group", OptionalText(), "Look into this group.")), answer=FindingList),
)  # fmt: skip
