"""Pure: how many of a log's oldest segments may go, now."""

from collections.abc import Sequence
from typing import NamedTuple

from ottla.config.log import LogConfig


class SegmentFacts(NamedTuple):
    """What retention needs to know of a segment."""

    base_offset: int
    end_offset: int
    size_bytes: int
    largest_timestamp: int


def expired_segments(
    segments: Sequence[SegmentFacts],
    config: LogConfig,
    now_ms: int,
    start_offset: int,
    upper_offset: int,
) -> int:
    """Count the leading segments to delete; none that reaches above upper_offset.

    A segment goes when it lies below the log's start, when it is older than retention.ms, or when
    the log without it still holds retention.bytes. The last segment may be counted too, unless it
    is empty: then the caller rolls first, as Kafka does.
    """
    by_age_and_size = "delete" in config.cleanup_policy
    surplus = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    active = len(segments) - 1
    for number, segment in enumerate(segments):
        if segment.end_offset > upper_offset or (number == active and not segment.size_bytes):
            return number
        below_start = segment.end_offset <= start_offset and number != active
        too_old = 0 <= config.retention_ms < now_ms - segment.largest_timestamp
        too_much = config.retention_bytes >= 0 and surplus >= segment.size_bytes
        if not (below_start or (by_age_and_size and (too_old or too_much))):
            return number
        surplus -= segment.size_bytes
    return len(segments)
