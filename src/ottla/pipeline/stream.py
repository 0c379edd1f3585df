"""The reader behind spark.readStream; Spark keeps one, in a process of its own, while a query runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

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
from ottla.pipeline.offsets import Offsets, TopicIds, from_json, names, to_json, topic_ids
from ottla.pipeline.progress_source import SourceProgress
from ottla.pipeline.progress_topic import progress_topic, told_by_driver
from ottla.pipeline.reading import HOW_TO_ACCEPT_LOSS, DataLoss, read_range
from ottla.pipeline.source_batch import Slice, reading
from ottla.pipeline.source_bounds import Start, may_begin_at_end, starting_offsets
from ottla.pipeline.source_lookup import Lookup
from ottla.pipeline.source_options import SourceOptions
from ottla.pipeline.source_ranges import ranges_between, split
from ottla.pipeline.stream_limits import Patience, limited

if TYPE_CHECKING:
    import pyarrow as pa

_OTHER_CHECKPOINT: Final = (
    "Give this query a checkpointLocation of its own; if it is the same query and is to read something "
    "else from now on, failOnDataLoss=false goes on without them"
)


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
        self._start: Start | None = None
        self._start_ids: TopicIds = {}
        self._has_begun = False
        self._latest: Offsets = {}
        self._first: Offsets = {}
        self._warned_of_ids = False
        self._patience = Patience(
            options.min_offsets_per_trigger or 0, options.max_trigger_delay_ms
        )

    # --- offsets

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a stream without a checkpoint begins.

        Spark asks for it with every look for data until there is a first batch, so latest must stay where it was; and
        again to repeat the first batch, whose end alone is in the checkpoint: see _end_of_first and _start_of_first.
        """
        if self._start is None:
            self._start = starting_offsets(self._cluster(), self._options)
            self._start_ids = self._cluster().topic_ids()
        return to_json(self._start.offsets, self._start_ids)

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
        processed, known = from_json(start), topic_ids(start)
        latest = self._reachable()
        ids = self._cluster().topic_ids()
        self._warn_of_unknown_ids(processed, known, ids)
        is_replaced = self._forget_replaced(processed, known, ids)
        self._check_gone(processed, latest)
        end = self._limited(self._begins(latest, processed), latest, limit, processed)
        if self._is_start(processed) and not self._has_begun:
            end = self._end_of_first(end)
        left = {each: offset for each, offset in processed.items() if each in latest}
        self._commit(left, idle=end == left)
        self._told().offer(processed, end, latest)
        return start if end == processed and not is_replaced else to_json(end, ids)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """How far the topics reached at the last look, for the progress."""
        return to_json(self._latest) if self._latest else None

    def commit(self, end: dict[str, Any]) -> None:
        """All before `end` is processed."""
        self._commit(from_json(end), idle=False)

    def stop(self) -> None:
        """The query has ended."""
        if self._lookup is not None:
            self._lookup.close()

    # --- tasks

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        processed, until, ids = from_json(start), from_json(end), topic_ids(end)
        self._forget_replaced(processed, topic_ids(start), ids)
        if self._is_start(processed):
            processed = self._start_of_first(processed, until)
        self._has_begun = True
        self._check_gone(processed, until)
        options = self._options
        ranges = ranges_between(self._begins(until, processed), until)
        tasks = split(ranges, options.min_partitions, options.max_records_per_partition)
        return [Slice(each, ids.get(each.partition.topic)) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task; runs in a worker."""
        assert isinstance(partition, Slice)
        return read_range(partition.range, self._reading, partition.topic_id)

    # --- inside

    def _cluster(self) -> Lookup:
        if self._lookup is None:
            self._lookup = Lookup(self._options)
        return self._lookup

    def _commit(self, processed: Offsets, *, idle: bool) -> None:
        if self._options.commit_offsets:
            self._committer().offer(processed, idle=idle)

    def _committer(self) -> GroupCommits:
        if self._commits is None:
            self._commits = GroupCommits(self._cluster().admin, group_of(self._options))
        return self._commits

    def _told(self) -> SourceProgress:
        if self._progress is None:
            wanted = self._options.publish_progress
            silent = wanted is False or told_by_driver()
            topic = None if silent else progress_topic(self._options.client, wanted)
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

    def _is_start(self, processed: Offsets) -> bool:
        return self._start is not None and processed == self._start.offsets

    def _end_of_first(self, end: Offsets) -> Offsets:
        """The first batch takes nothing of partitions that begin at their end: so the checkpoint keeps where that was.

        Partitions that have come in the meantime are for the second batch, which begins where this one ended.
        """
        assert self._start is not None
        offsets, at_end = self._start
        return {
            each: offsets[each] if each in at_end else until
            for each, until in end.items()
            if each in offsets
        }

    def _start_of_first(self, looked_up: Offsets, until: Offsets) -> Offsets:
        """The start of the first batch as it was: without what has come since, and no further than its end."""
        return {
            each: min(offset, until[each]) if may_begin_at_end(self._options, each) else offset
            for each, offset in looked_up.items()
            if each in until
        }

    def _begins(self, partitions: Iterable[TopicPartition], processed: Offsets) -> Offsets:
        """Where partitions go on; those that are new, at their earliest offsets."""
        known = self._first | processed
        new = [each for each in partitions if each not in known]
        for each, earliest in self._cluster().earliest(new).items():
            if earliest > 0:
                self._report_loss(f"the new partition {each} begins at offset {earliest}, not 0")
            known[each] = self._first[each] = earliest
        return known

    def _limited(
        self, begin: Offsets, latest: Offsets, limit: ReadLimit, processed: Offsets
    ) -> Offsets:
        if isinstance(limit, ReadAllAvailable):
            return latest
        # With availableNow nothing more would ever come.
        if not self._until_now and self._patience.waits(begin, latest, time.monotonic() * 1000):
            return processed
        return limited(begin, latest, limit.max_rows) if isinstance(limit, ReadMaxRows) else latest

    def _forget_replaced(self, processed: Offsets, known: TopicIds, ids: TopicIds) -> bool:
        """Remove topics that have another id than before: they are new, and none of them was read."""
        replaced = {topic for topic in known if ids.get(topic, known[topic]) != known[topic]}
        if replaced:
            told = ", ".join(sorted(replaced))
            self._report_loss(
                f"{told} was deleted and made anew since it was read: it has another id, and what the old one had "
                "left is gone"
            )
        for offsets in (processed, self._first):
            for each in [each for each in offsets if each.topic in replaced]:
                del offsets[each]
        return bool(replaced)

    def _warn_of_unknown_ids(self, processed: Offsets, known: TopicIds, ids: TopicIds) -> None:
        unknown = {each.topic for each in processed if each.topic in ids} - known.keys()
        if unknown and not self._warned_of_ids:
            self._warned_of_ids = True
            warnings.warn(
                f"the checkpoint does not say which ids the topics {', '.join(sorted(unknown))} had, as one of Spark's "
                "Kafka connector does not: that one of them was deleted and made anew would not be noticed until the "
                "next batch is done",
                stacklevel=2,
            )

    def _check_gone(self, processed: Offsets, latest: Offsets) -> None:
        gone = processed.keys() - latest.keys()
        if strangers := [each for each in gone if not self._options.names(each)]:
            self._report_loss(
                f"the checkpoint belongs to a query that reads {names(strangers)}, which this one does not",
                _OTHER_CHECKPOINT,
            )
        elif gone:
            self._report_loss(f"{names(gone)} is gone")
        for each, end in latest.items():
            if end < processed.get(each, end):
                self._report_loss(
                    f"{each} was read up to offset {processed[each]}, but ends at {end} now; it was "
                    "deleted and made anew, or lost records"
                )

    def _report_loss(self, said: str, advice: str = HOW_TO_ACCEPT_LOSS) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{said}. {advice}")
        warnings.warn(f"{said}; the stream goes on without", stacklevel=2)
