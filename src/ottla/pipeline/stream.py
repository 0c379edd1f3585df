"""The reader behind spark.readStream; Spark keeps one, in a process of its own, while a query runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from ottla.base.ids import TopicPartition
from ottla.pipeline.group_commits import GroupCommits, group_of
from ottla.pipeline.offsets import Offsets, from_json, names, to_json
from ottla.pipeline.progress_source import SourceProgress
from ottla.pipeline.progress_topic import progress_topic, told_by_driver
from ottla.pipeline.reading import HOW_TO_ACCEPT_LOSS, DataLoss, read_range
from ottla.pipeline.source_batch import Slice, reading, starting_offsets
from ottla.pipeline.source_lookup import Lookup
from ottla.pipeline.source_options import SourceOptions
from ottla.pipeline.source_ranges import ranges_between, split
from ottla.pipeline.stream_limits import Patience, limited

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells Spark how far the topics reach, and reads what lies between two sets of offsets."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._reading = reading(options)
        # Connections are made at the first need: a reader also travels to the workers, without any.
        self._lookup: Lookup | None = None
        self._commits: GroupCommits | None = None
        self._progress: SourceProgress | None = None
        self._until_now = False
        self._target: Offsets | None = None
        self._initial: Offsets | None = None
        self._latest: Offsets = {}
        self._first: Offsets = {}
        self._patience = Patience(
            options.min_offsets_per_trigger or 0, options.max_trigger_delay_ms
        )

    # --- offsets

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a stream without a checkpoint begins.

        Spark asks with every look for data until there is a first batch: latest must stay where it was.
        """
        if self._initial is None:
            self._initial = starting_offsets(self._cluster(), self._options)
        return to_json(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit of a batch; where there are a most and a least, this reader minds the least."""
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return ReadMaxRows(options.max_offsets_per_trigger)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The next look at the topics is the last; not now, since Spark may first repeat a batch."""
        self._until_now = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next batch ends; `start` was processed, so it is what the group has read."""
        processed = from_json(start)
        latest = self._reachable()
        self._check_gone(processed, latest)
        begin = {each: self._begin(each, processed) for each in latest}
        end = self._limited(begin, latest, limit, processed)
        self._committer().offer(processed, idle=end == processed)
        self._told().offer(processed, end, latest)
        return to_json(end)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """How far the topics reached at the last look, for the progress."""
        return to_json(self._latest) if self._latest else None

    def commit(self, end: dict[str, Any]) -> None:
        """All before `end` is processed."""
        self._committer().offer(from_json(end), idle=False)

    def stop(self) -> None:
        """The query has ended."""
        if self._lookup is not None:
            self._lookup.close()

    # --- tasks

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        processed, until = from_json(start), from_json(end)
        self._check_gone(processed, until)
        begin = {each: self._begin(each, processed) for each in until}
        options = self._options
        ranges = ranges_between(begin, until)
        tasks = split(ranges, options.min_partitions, options.max_records_per_partition)
        return [Slice(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task; runs in a worker."""
        assert isinstance(partition, Slice)
        return read_range(partition.range, self._reading)

    # --- inside

    def _cluster(self) -> Lookup:
        if self._lookup is None:
            self._lookup = Lookup(self._options)
        return self._lookup

    def _committer(self) -> GroupCommits:
        if self._commits is None:
            self._commits = GroupCommits(self._cluster().admin, group_of(self._options))
        return self._commits

    def _told(self) -> SourceProgress:
        if self._progress is None:
            wanted = False if told_by_driver() else self._options.publish_progress
            topic = progress_topic(self._options.client, wanted)
            self._progress = SourceProgress(topic, group_of(self._options))
        return self._progress

    def _reachable(self) -> Offsets:
        if self._target is not None:
            return self._target
        lookup = self._cluster()
        self._latest = lookup.latest(lookup.partitions())
        if self._until_now:
            self._target = self._latest
        return self._latest

    def _begin(self, partition: TopicPartition, processed: Offsets) -> int:
        """Where a partition goes on; one that is new, at its earliest offset."""
        if partition in processed:
            return processed[partition]
        if partition not in self._first:
            earliest = self._cluster().earliest([partition])[partition]
            if earliest > 0:
                self._report_loss(
                    f"the new partition {partition} begins at offset {earliest}, not 0"
                )
            self._first[partition] = earliest
        return self._first[partition]

    def _limited(
        self, begin: Offsets, latest: Offsets, limit: ReadLimit, processed: Offsets
    ) -> Offsets:
        if isinstance(limit, ReadAllAvailable):
            return latest
        # With availableNow nothing more would ever come.
        if not self._until_now and self._patience.waits(begin, latest, time.monotonic() * 1000):
            return processed
        return limited(begin, latest, limit.max_rows) if isinstance(limit, ReadMaxRows) else latest

    def _check_gone(self, processed: Offsets, latest: Offsets) -> None:
        if gone := processed.keys() - latest.keys():
            self._report_loss(f"{names(gone)} is gone")
        for each, end in latest.items():
            if end < processed.get(each, end):
                self._report_loss(
                    f"{each} was read up to offset {processed[each]}, but ends at {end} now; it was "
                    "deleted and made anew, or lost records"
                )

    def _report_loss(self, said: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{said}. {HOW_TO_ACCEPT_LOSS}")
        warnings.warn(f"{said}; the stream goes on without", stacklevel=2)
