"""The reader behind spark.read: offsets are looked up once, and split into tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from ottla.base.ids import TopicPartition
from ottla.pipeline.reading import Reading, read_range
from ottla.pipeline.source_bounds import ending_offsets, starting_offsets
from ottla.pipeline.source_filters import Limits
from ottla.pipeline.source_lookup import NO_RECORD_AS_LATE, Lookup
from ottla.pipeline.source_options import SourceOptions
from ottla.pipeline.source_ranges import Range, ranges_between, split

if TYPE_CHECKING:
    import pyarrow as pa


class Slice(InputPartition):
    """What one task reads."""

    def __init__(self, value: Range, topic_id: UUID | None = None) -> None:
        super().__init__((tuple(value), topic_id))

    @property
    def range(self) -> Range:
        """The offsets."""
        (partition, start, end), _ = self.value
        return Range(TopicPartition(*partition), start, end)

    @property
    def topic_id(self) -> UUID | None:
        """The id of the topic that was planned for; None where brokers tell none."""
        _, found = self.value
        return found  # type: ignore[no-any-return]  # Spark's class says Any of its value


class _PushFilters:
    """A reader's `pushFilters` that Spark takes for the inherited one while push-down is off.

    Spark calls it only if spark.sql.python.filterPushdown.enabled is true; if it is false, Spark
    refuses to plan any reader that has a `pushFilters` of its own. It tells by the function behind
    the bound method, and reads must work either way.
    """

    # Static: an attribute that is a function would be bound on the way out.
    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, push: Callable[[Iterable[Filter]], list[Filter]]) -> None:
        self._push = push

    def __call__(self, filters: list[Filter]) -> list[Filter]:
        return self._push(filters)


class BatchReader(DataSourceReader):
    """Reads from the starting to the ending offsets."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._reading = reading(options)
        self._limits = Limits()

    @property
    def pushFilters(self) -> Any:  # noqa: N802 - Spark's name
        """Takes filters as limits on what is fetched; returns those that Spark applies, too."""
        return _PushFilters(self._limits.push)

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each partition that has something to read, or more where options ask for it."""
        lookup = Lookup(self._options)
        try:
            ranges = self._limited(self._ranges(lookup), lookup)
            ids = lookup.topic_ids()
        finally:
            lookup.close()
        tasks = split(ranges, self._options.min_partitions, self._options.max_records_per_partition)
        # Without any task Spark would plan one that reads nothing at all: None.
        return [Slice(each, ids.get(each.partition.topic)) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task."""
        if not isinstance(partition, Slice):
            return iter(())
        return read_range(partition.range, self._reading, partition.topic_id)

    def _ranges(self, lookup: Lookup) -> list[Range]:
        end = ending_offsets(lookup, self._options)
        return ranges_between(starting_offsets(lookup, self._options).offsets, end)

    def _limited(self, ranges: list[Range], lookup: Lookup) -> list[Range]:
        left = [self._limits.within(each) for each in ranges if self._limits.allows(each)]
        if self._limits.since_ms is None:
            return left
        since = lookup.since({each.partition: self._limits.since_ms for each in left})
        return [
            each._replace(start=max(each.start, since[each.partition]))
            for each in left
            if since.get(each.partition, NO_RECORD_AS_LATE) != NO_RECORD_AS_LATE
        ]


def reading(options: SourceOptions) -> Reading:
    """How the tasks of these options read."""
    return Reading(
        client=dict(options.client),
        read_committed=options.read_committed,
        headers=options.include_headers,
        fail_on_data_loss=options.fail_on_data_loss,
        timeout_ms=options.poll_timeout_ms,
    )
