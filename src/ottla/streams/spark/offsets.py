"""How far the queries of an application have read: the lowest offsets of all that read a partition.

They are the offsets of the consumer group that is named after the application, for every tool that shows lag.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.client.administration.group_offsets import CommittedOffset
from ottla.client.administration.offsets import LATEST
from ottla.client.sync_admin import SyncAdmin
from ottla.pipeline.offsets import Offsets, from_json

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

log = logger(__name__)


class GroupOffsets:
    """Commits the lowest offsets of an application's queries, as their progress tells them."""

    def __init__(
        self, application_id: str, queries: Mapping[str, frozenset[str]], admin: SyncAdmin
    ) -> None:
        self._group = application_id
        self._topics = queries
        """The topics that each query reads, by the query's name."""
        self._admin = admin
        self._read: dict[str, Offsets] = {}
        self._lock = threading.Lock()

    def look(self, queries: Iterable[StreamingQuery]) -> None:
        """Commit what has changed since the last look."""
        for query in queries:
            name, read = query.name, _processed(query)
            if name is None or read is None or self._read.get(name) == read:
                continue
            try:
                self.note(name, read)
            except (OttlaError, TimeoutError) as error:
                log.warning(
                    "offsets were not committed: lag looks too large", group=self._group, why=error
                )

    def note(self, query: str, read: Offsets) -> None:
        """Commit what is lowest, now that a query has read so far."""
        with self._lock:
            self._read[query] = read
            lowest = self._lowest(read)
            if lowest:
                outcomes = self._admin.alter_group_offsets(
                    self._group, {each: CommittedOffset(offset) for each, offset in lowest.items()}
                )
                for outcome in outcomes.values():
                    if isinstance(outcome, ApiError):
                        raise outcome

    def _lowest(self, read: Offsets) -> Offsets:
        lowest: Offsets = {}
        for each in read:
            readers = [name for name, topics in self._topics.items() if each.topic in topics]
            if all(name in self._read for name in readers):
                lowest[each] = min(self._read[name].get(each, 0) for name in readers)
        return lowest


def _processed(query: StreamingQuery) -> Offsets | None:
    """The end of a query's last batch; None if it has done none."""
    progress = query.lastProgress
    if progress is None:
        return None
    ends = [each["endOffset"] for each in progress["sources"] if each["endOffset"]]
    known = [from_json(json.loads(end) if isinstance(end, str) else end) for end in ends]
    return {partition: offset for end in known for partition, offset in end.items()}


def lag_of(admin: SyncAdmin, group: str, topics: frozenset[str]) -> dict[str, int]:
    """Return how many records of each topic the group has not read, by topic."""
    cluster = admin.twin.cluster
    view = admin.thread.run(cluster.retried(lambda: cluster.refresh(sorted(topics))))
    partitions = [
        TopicPartition(name, part.index)
        for name in topics
        if name in view.topics
        for part in view.topics[name].partitions
    ]
    ends = admin.list_offsets(dict.fromkeys(partitions, LATEST), read_committed=True)
    committed = admin.list_group_offsets(group)
    lag = dict.fromkeys(sorted(topics), 0)
    for each, end in ends.items():
        if isinstance(end, ApiError):
            continue
        known = committed.get(each)
        read = 0 if known is None or isinstance(known, ApiError) else max(0, known.offset)
        lag[each.topic] += max(0, end.offset - read)
    return lag
