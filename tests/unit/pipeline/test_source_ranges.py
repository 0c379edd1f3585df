"""Which offsets each task reads."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ottla.base.ids import TopicPartition
from ottla.pipeline.source_ranges import Range, ranges_between, split

ONE, TWO, THREE = (TopicPartition("t", number) for number in range(3))
SIZES = st.lists(st.integers(0, 1000), min_size=1, max_size=6)


def ranges_of(sizes: list[int]) -> list[Range]:
    return [Range(TopicPartition("t", n), 7, 7 + size) for n, size in enumerate(sizes)]


def test_ranges_lie_between_two_offsets() -> None:
    found = ranges_between({ONE: 1, TWO: 5, THREE: 9}, {ONE: 3, TWO: 5, THREE: 4})
    assert found == [Range(ONE, 1, 3)]


def test_without_options_a_partition_is_a_task() -> None:
    assert split(ranges_of([10, 20]), None, None) == ranges_of([10, 20])


def test_tasks_stay_below_the_most_records() -> None:
    tasks = split(ranges_of([10, 3]), None, 4)
    assert [each.size for each in tasks] == [3, 3, 4, 3]


def test_large_partitions_are_split_and_small_ones_are_not() -> None:
    tasks = split(ranges_of([1000, 10]), 5, None)
    assert [(each.partition.partition, each.size) for each in tasks] == [
        (0, 250),
        (0, 250),
        (0, 250),
        (0, 250),
        (1, 10),
    ]


@given(SIZES, st.none() | st.integers(1, 20), st.none() | st.integers(1, 300))
def test_every_offset_is_read_once(sizes: list[int], least: int | None, most: int | None) -> None:
    tasks = split(ranges_of(sizes), least, most)
    assert all(each.size for each in tasks)
    for whole in ranges_of(sizes):
        parts = sorted(each for each in tasks if each.partition == whole.partition)
        assert sum(each.size for each in parts) == whole.size
        assert all(before.end == after.start for before, after in pairwise(parts))
        assert not parts or (parts[0].start, parts[-1].end) == (whole.start, whole.end)
    if most is not None:
        assert all(each.size <= most for each in tasks)
