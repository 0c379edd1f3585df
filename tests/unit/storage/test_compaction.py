"""Which log is compacted next, up to where, and which segments become one."""

from ottla.base.units import HOUR_MS, LONG_MAX
from ottla.config.log import LogConfig
from ottla.storage.compaction import (
    MAX_RELATIVE_OFFSET,
    Cleaning,
    SealedSegment,
    SegmentFiles,
    cleaning_of,
    first_dirty_offset,
    group_segments,
)

SEGMENTS = [SealedSegment(n * 100, n * 100 + 100, 1000, 0, 0) for n in range(5)]


def test_a_log_never_compacted_is_all_dirty() -> None:
    assert cleaning_of(SEGMENTS, 0, 500, LogConfig()) == Cleaning(0, 500, 0, 5000, False)


def test_what_lies_below_the_checkpoint_is_clean() -> None:
    found = cleaning_of(SEGMENTS, 300, 500, LogConfig())
    assert (found.clean_bytes, found.dirty_bytes) == (3000, 2000)
    assert found.dirty_ratio == 0.4


def test_a_segment_that_was_compacted_in_part_is_dirty() -> None:
    assert cleaning_of(SEGMENTS, 350, 500, LogConfig()).clean_bytes == 3000


def test_a_segment_that_reaches_above_the_stable_offset_is_left_alone() -> None:
    assert cleaning_of(SEGMENTS, 0, 399, LogConfig()).upper_offset == 300
    assert cleaning_of(SEGMENTS, 0, 400, LogConfig()).upper_offset == 400


def test_young_records_are_left_alone_for_min_compaction_lag() -> None:
    config = LogConfig(min_compaction_lag_ms=HOUR_MS)
    ages = (3 * HOUR_MS, 2 * HOUR_MS, HOUR_MS - 1, 2 * HOUR_MS, 0)
    segments = [
        segment._replace(youngest_age_ms=age) for segment, age in zip(SEGMENTS, ages, strict=True)
    ]
    assert cleaning_of(segments, 0, 500, config).upper_offset == 200


def test_max_compaction_lag_makes_a_hardly_dirty_log_due() -> None:
    config = LogConfig(max_compaction_lag_ms=HOUR_MS, min_cleanable_dirty_ratio=0.5)
    old = [*SEGMENTS[:4], SEGMENTS[4]._replace(oldest_age_ms=HOUR_MS + 1)]
    assert not cleaning_of(SEGMENTS, 400, 500, config).is_due(config)
    assert cleaning_of(old, 400, 500, config).is_due(config)
    assert not cleaning_of(old, 500, 500, config).is_due(config), "nothing is dirty there"


def test_a_log_is_due_above_its_dirty_ratio() -> None:
    config = LogConfig(min_cleanable_dirty_ratio=0.5, max_compaction_lag_ms=LONG_MAX)
    assert not Cleaning(0, 100, 50, 50, False).is_due(config)
    assert Cleaning(0, 100, 49, 51, False).is_due(config)
    assert not Cleaning(0, 0, 0, 0, False).is_due(LogConfig(min_cleanable_dirty_ratio=0.0))


def test_a_checkpoint_outside_of_the_log_is_void() -> None:
    assert first_dirty_offset(50, 10, 100) == 50
    assert first_dirty_offset(5, 10, 100) == 10
    assert first_dirty_offset(101, 10, 100) == 10


def files(base: int, size: int, index: int = 8, end: int | None = None) -> SegmentFiles:
    return SegmentFiles(base, base + 100 if end is None else end, size, index, 12)


def test_neighbours_are_merged_up_to_the_segment_size() -> None:
    segments = [files(0, 400), files(100, 600), files(200, 500), files(300, 499), files(400, 2)]
    bases = [[each.base_offset for each in group] for group in group_segments(segments, 1000, 100)]
    assert bases == [[0, 100], [200, 300], [400]]


def test_a_segment_larger_than_allowed_stays_alone() -> None:
    groups = group_segments([files(0, 5000), files(100, 10)], 1000, 100)
    assert [len(group) for group in groups] == [1, 1]


def test_indexes_and_relative_offsets_limit_a_group() -> None:
    assert len(group_segments([files(0, 1, 60), files(100, 1, 60)], 1000, 100)) == 2
    far = files(100, 1, end=MAX_RELATIVE_OFFSET + 2)
    assert len(group_segments([files(0, 1), far], 1000, 100)) == 2
    near = files(100, 1, end=MAX_RELATIVE_OFFSET + 1)
    assert len(group_segments([files(0, 1), near], 1000, 100)) == 1
