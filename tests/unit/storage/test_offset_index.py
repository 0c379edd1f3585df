"""The offset index finds where to start looking."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ottla.storage.offset_index import OffsetIndex


def make_index(path: Path, *entries: tuple[int, int], base_offset: int = 100) -> OffsetIndex:
    index = OffsetIndex(str(path / "100.index"), base_offset)
    index.reset()
    for offset, position in entries:
        index.append(offset, position)
    return index


def test_lookup_finds_the_batch_that_ends_at_or_below(tmp_path: Path) -> None:
    index = make_index(tmp_path, (109, 4100), (119, 8200))
    assert [index.lookup(offset) for offset in (100, 108, 109, 118, 119, 500)] == [
        0,
        0,
        4100,
        4100,
        8200,
        8200,
    ]


def test_an_empty_index_says_start_at_the_beginning(tmp_path: Path) -> None:
    index = make_index(tmp_path)
    assert index.lookup(5) == index.batch_at_or_below(500) == 0


def test_entries_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    index = make_index(tmp_path, (109, 4100), (119, 8200))
    assert index.flush()
    assert not index.flush()
    assert Path(index.path).read_bytes() == struct.pack(">iiii", 9, 4100, 19, 8200)


def test_later_entries_are_added_to_the_file(tmp_path: Path) -> None:
    index = make_index(tmp_path, (109, 4100))
    index.flush()
    index.append(119, 8200)
    index.seal()
    assert not index.loaded
    assert index.entry(0) == (109, 4100)
    assert index.entry(-1) == (119, 8200)


def test_the_zeros_that_kafka_preallocates_are_no_entries(tmp_path: Path) -> None:
    index = make_index(tmp_path, (109, 4100))
    Path(index.path).write_bytes(struct.pack(">ii", 9, 4096) + bytes(10_000))
    index.seal()
    Path(index.path).write_bytes(struct.pack(">ii", 9, 4096) + bytes(10_000))
    assert index.count == 1
    assert index.entry(-1) == (109, 4096)
    index.append(119, 8200)
    index.flush()
    assert Path(index.path).stat().st_size == 16


def test_truncation_drops_entries_at_and_above(tmp_path: Path) -> None:
    index = make_index(tmp_path, (109, 4100), (119, 8200), (129, 12300))
    index.truncate_to(119)
    assert index.count == 1
    index.flush()
    assert Path(index.path).stat().st_size == 8


def test_a_sealed_index_that_is_cut_takes_appends_again(tmp_path: Path) -> None:
    index = make_index(tmp_path, (109, 4100), (119, 8200))
    index.seal()
    index.truncate_to(115)
    index.append(140, 9000)
    index.flush()
    index.seal()
    assert [index.entry(0), index.entry(1)] == [(109, 4100), (140, 9000)]


@given(st.lists(st.integers(1, 1000), max_size=60), st.integers(0, 70_000))
def test_lookup_agrees_with_a_linear_search(steps: list[int], wanted: int) -> None:
    entries = [(sum(steps[: n + 1]), 3 * sum(steps[: n + 1])) for n in range(len(steps))]
    index = make_index(Path("/nonexistent"), *entries, base_offset=0)
    assert index.lookup(wanted) == max((pos for off, pos in entries if off <= wanted), default=0)
    assert index.batch_at_or_below(wanted) == max(
        (pos for _, pos in entries if pos <= wanted), default=0
    )
