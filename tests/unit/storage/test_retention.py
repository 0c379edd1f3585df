"""Which of the oldest segments may go."""

from ottla.config.log import LogConfig
from ottla.storage.retention import SegmentFacts, expired_segments

FOREVER = LogConfig(retention_ms=-1, retention_bytes=-1)
SEGMENTS = [
    SegmentFacts(0, 100, 1000, 1_000),
    SegmentFacts(100, 200, 1000, 2_000),
    SegmentFacts(200, 300, 500, 3_000),
]


def test_nothing_goes_without_limits() -> None:
    assert expired_segments(SEGMENTS, FOREVER, 10**12, 0, 300) == 0


def test_segments_older_than_retention_ms_go() -> None:
    config = LogConfig(retention_ms=100)
    assert expired_segments(SEGMENTS, config, 2_050, 0, 300) == 1
    assert expired_segments(SEGMENTS, config, 2_200, 0, 300) == 2


def test_the_active_segment_goes_too_when_all_is_old() -> None:
    assert expired_segments(SEGMENTS, LogConfig(retention_ms=100), 9_000, 0, 300) == 3


def test_an_empty_active_segment_stays() -> None:
    segments = [*SEGMENTS[:2], SegmentFacts(200, 200, 0, 0)]
    assert expired_segments(segments, LogConfig(retention_ms=100), 9_000, 0, 300) == 2


def test_a_segment_goes_if_retention_bytes_remain_without_it() -> None:
    assert expired_segments(SEGMENTS, LogConfig(retention_bytes=1_500), 0, 0, 300) == 1
    assert expired_segments(SEGMENTS, LogConfig(retention_bytes=1_501), 0, 0, 300) == 0
    assert expired_segments(SEGMENTS, LogConfig(retention_bytes=0), 0, 0, 300) == 3


def test_nothing_above_the_high_watermark_goes() -> None:
    assert expired_segments(SEGMENTS, LogConfig(retention_ms=1), 9_000, 0, 150) == 1


def test_segments_below_the_start_offset_go_whatever_the_policy() -> None:
    compacted = LogConfig(cleanup_policy=frozenset({"compact"}), retention_ms=1)
    assert expired_segments(SEGMENTS, compacted, 9_000, 0, 300) == 0
    assert expired_segments(SEGMENTS, compacted, 9_000, 200, 300) == 2
    assert expired_segments(SEGMENTS, compacted, 9_000, 300, 300) == 2
