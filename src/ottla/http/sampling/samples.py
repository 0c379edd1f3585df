"""Looks at all clusters now and then: ends of partitions and sizes of logs, kept as rates per topic."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.tasks import Tasks
from ottla.client.admin import Admin
from ottla.client.administration.offsets import LATEST
from ottla.http.clusters.link import Link
from ottla.http.clusters.table import Clusters
from ottla.http.sampling.series import Series
from ottla.http.server.callers import Caller
from ottla.http.settings import HttpSettings
from ottla.inspection.sizes import partition_sizes

log = logger(__name__)
SERVICE: Final = Caller("service")
"""Samples are taken by the service itself, with the settings of its cluster."""
_MANY_PARTITIONS: Final = 20_000
_SIZES_EVERY_S: Final = 15.0
_FINE: Final = 240


class Samples:
    """What is known of one cluster."""

    def __init__(self) -> None:
        self.taken_ms = 0
        # Of the whole cluster every 15 s: a new picture has something to show sooner.
        self.records = Series(_FINE)
        self.bytes = Series(_FINE)
        self.topic_records: dict[str, Series] = {}
        self.topic_bytes: dict[str, Series] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.sizes: dict[TopicPartition, int] = {}
        self.error: str | None = None

    def add_ends(self, now_ms: int, ends: dict[TopicPartition, int]) -> None:
        """The ends of all partitions at a time."""
        self.taken_ms, self.ends = now_ms, ends
        _add(self.topic_records, self.records, now_ms, ends)

    def add_sizes(self, now_ms: int, sizes: dict[TopicPartition, int]) -> None:
        """Bytes on disk: what grows is what was written, as long as nothing is deleted."""
        self.sizes = sizes
        _add(self.topic_bytes, self.bytes, now_ms, sizes)


def _add(
    by_topic: dict[str, Series], total: Series, now_ms: int, counts: dict[TopicPartition, int]
) -> None:
    sums: dict[str, int] = {}
    for at, count in counts.items():
        sums[at.topic] = sums.get(at.topic, 0) + count
    for topic in by_topic.keys() - sums.keys():
        del by_topic[topic]
    for topic, count in sums.items():
        by_topic.setdefault(topic, Series()).add(now_ms, count)
    total.add(now_ms, sum(sums.values()))


class Sampler:
    """Takes the samples of all clusters, each at its own pace."""

    def __init__(self, clusters: Clusters, settings: HttpSettings) -> None:
        self._clusters = clusters
        self._interval_s = settings.sample_interval_ms / 1000
        self._tasks = Tasks()
        self._samples = {each.label: Samples() for each in clusters}

    def of(self, label: str) -> Samples:
        """What is known of a cluster."""
        return self._samples[label]

    def start(self) -> None:
        """Begin."""
        for link in self._clusters:
            self._tasks.spawn(self._watch(link))

    async def close(self) -> None:
        """End."""
        await self._tasks.cancel()

    async def _watch(self, link: Link) -> None:
        samples, sizes_at = self._samples[link.label], 0.0
        while True:
            began = time.monotonic()
            try:
                admin = link.admin(SERVICE)
                samples.add_ends(_now_ms(), await _ends(admin))
                if began - sizes_at >= _SIZES_EVERY_S:
                    sizes_at = began
                    samples.add_sizes(_now_ms(), await partition_sizes(admin))
                samples.error = None
            except OttlaError as error:
                if samples.error is None:
                    log.warning("a cluster cannot be sampled", cluster=link.label, error=str(error))
                samples.error = str(error)
            # A large cluster is looked at less often: a tenth of the time at most.
            took_s = time.monotonic() - began
            slow = 6 if len(samples.ends) > _MANY_PARTITIONS else 1
            await asyncio.sleep(max(self._interval_s * slow, took_s * 9))


async def _ends(admin: Admin) -> dict[TopicPartition, int]:
    topics = await admin.list_topics()
    led = [
        TopicPartition(topic.name, each.index)
        for topic in topics.values()
        for each in topic.partitions
        if each.leader >= 0
    ]
    found = await admin.list_offsets(dict.fromkeys(led, LATEST)) if led else {}
    return {at: each.offset for at, each in found.items() if not isinstance(each, ApiError)}


def _now_ms() -> int:
    return round(time.time() * 1000)
