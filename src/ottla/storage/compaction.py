"""Pure: which log to compact next, up to where, and which of its segments become one.

What may be compacted ends at a segment boundary: below the active segment, below the high
watermark and every open transaction, and before the first segment with a record that is younger
than min.compaction.lag.ms. Differs from Kafka: a segment that only partly lies below the last
stable offset is left alone, so that the keys of an open transaction shadow nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ottla.config.log import LogConfig

MAX_RELATIVE_OFFSET = 2**31 - 1


class SealedSegment(NamedTuple):
    """A segment that takes no more appends, as far as this decision needs to know it.

    The ages are those of the youngest and of the first record, by their own clock.
    """

    base_offset: int
    end_offset: int
    size_bytes: int
    youngest_age_ms: int
    oldest_age_ms: int


class Cleaning(NamedTuple):
    """What there is to compact in one log."""

    first_dirty_offset: int
    upper_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        """The part of the log, up to where it may be compacted, that has not been yet."""
        return self.dirty_bytes / ((self.clean_bytes + self.dirty_bytes) or 1)

    def is_due(self, config: LogConfig) -> bool:
        """Whether the log is dirty enough, or holds a record that has waited for too long."""
        if not self.dirty_bytes:
            return False
        return self.is_overdue or self.dirty_ratio > config.min_cleanable_dirty_ratio


class SegmentFiles(NamedTuple):
    """A segment's offsets and the sizes of its files."""

    base_offset: int
    end_offset: int
    size_bytes: int
    index_bytes: int
    time_index_bytes: int


def first_dirty_offset(checkpoint: int, start_offset: int, end_offset: int) -> int:
    """Where the part that was never compacted begins; a checkpoint outside the log is void."""
    return checkpoint if start_offset <= checkpoint <= end_offset else start_offset


def cleaning_of(
    sealed: Iterable[SealedSegment], first_dirty: int, stable_offset: int, config: LogConfig
) -> Cleaning:
    """What of a log, given its sealed segments in order, may be compacted now."""
    clean = dirty = 0
    upper_offset = first_dirty
    is_overdue = False
    for segment in sealed:
        if segment.end_offset <= first_dirty:
            clean += segment.size_bytes
            continue
        if segment.end_offset > stable_offset:
            break
        if segment.youngest_age_ms < config.min_compaction_lag_ms:
            break
        dirty += segment.size_bytes
        upper_offset = segment.end_offset
        is_overdue = is_overdue or segment.oldest_age_ms > config.max_compaction_lag_ms
    return Cleaning(first_dirty, upper_offset, clean, dirty, is_overdue)


def group_segments(
    segments: Sequence[SegmentFiles], segment_bytes: int, index_bytes: int
) -> list[list[SegmentFiles]]:
    """Neighbours that fit into one segment together, so that compaction leaves no crumbs."""
    groups: list[list[SegmentFiles]] = []
    for segment in segments:
        if groups and _fit([*groups[-1], segment], segment_bytes, index_bytes):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fit(group: list[SegmentFiles], segment_bytes: int, index_bytes: int) -> bool:
    return (
        sum(each.size_bytes for each in group) <= segment_bytes
        and sum(each.index_bytes for each in group) <= index_bytes
        and sum(each.time_index_bytes for each in group) <= index_bytes
        and group[-1].end_offset - 1 - group[0].base_offset <= MAX_RELATIVE_OFFSET
    )
