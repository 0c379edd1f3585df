"""The time index knows the largest timestamp so far."""

import struct
from pathlib import Path

from ottla.storage.time_index import TimeIndex


def make_index(path: Path, *entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex(str(path / "100.timeindex"), 100)
    index.reset()
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


def test_only_a_larger_timestamp_makes_an_entry(tmp_path: Path) -> None:
    index = make_index(tmp_path, (1000, 109), (1000, 119), (900, 129), (2000, 139))
    assert index.count == 2
    assert index.last() == (2000, 139)


def test_entries_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    index = make_index(tmp_path, (1000, 109))
    index.flush()
    assert Path(index.path).read_bytes() == struct.pack(">qi", 1000, 9)


def test_lookup_never_skips_a_record_of_that_time(tmp_path: Path) -> None:
    index = make_index(tmp_path, (1000, 109), (2000, 139))
    assert [index.lookup(time) for time in (1, 1000, 1001, 2000, 2001)] == [100, 100, 109, 109, 139]


def test_an_empty_index_has_no_time(tmp_path: Path) -> None:
    assert make_index(tmp_path).last() == (-1, 100)


def test_truncation_by_offset(tmp_path: Path) -> None:
    index = make_index(tmp_path, (1000, 109), (2000, 139), (3000, 159))
    index.keep_through(139)
    assert index.last() == (2000, 139)
    index.truncate_to(139)
    assert index.last() == (1000, 109)
