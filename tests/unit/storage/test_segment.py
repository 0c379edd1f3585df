"""One segment file: positions, whole batches, cold reads, cutting."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from ottla.base.errors import CorruptLog, DiskFull
from ottla.protocol.records.batch import iter_headers, parse_header, patch_offset_and_epoch
from ottla.storage import fs
from ottla.storage.segment import Segment
from tests.unit.storage.samples import NOW_MS, make_batch

INTERVAL = 4096


def fill_segment(directory: Path, batches: int, *, value: bytes = b"v" * 200) -> Segment:
    segment = Segment.create(str(directory), 0, NOW_MS)
    for n in range(batches):
        batch = make_batch(10, value=value, timestamp=NOW_MS + n)
        patch_offset_and_epoch(batch, 0, 10 * n, 0)
        header = parse_header(batch)
        position = segment.write(batch)
        segment.index(position, len(batch), header.last_offset, header.max_timestamp, INTERVAL)
    return segment


def offsets(data: fs.Buffer | None) -> list[int]:
    assert data is not None
    return [header.base_offset for _, header in iter_headers(data)]


def test_index_entries_follow_kafkas_rule(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 20)
    size = segment.size_bytes // 20
    since, expected = 0, []
    for n in range(20):
        if since > INTERVAL:
            expected.append((10 * n + 9, n * size))
            since = 0
        since += size
    count = segment.offset_index.count
    assert [segment.offset_index.entry(n) for n in range(count)] == expected
    assert segment.entry_count == count


def test_every_offset_is_located_in_the_batch_that_holds_it(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 30)
    size = segment.size_bytes // 30
    for offset in range(300):
        for remember in (False, True):
            found = segment.locate(offset, fs.pread, segment.fd, remember=remember)
            assert found == offset // 10 * size
    assert segment.locate(300, fs.pread, segment.fd) == segment.size_bytes


def read(segment: Segment, *arguments: Any) -> bytes:
    region = segment.read(*arguments)
    assert region is not None
    return region.read()


@pytest.mark.parametrize("max_bytes", [1, 61, 3000, 9000, 10**6])
def test_reads_are_whole_batches_whatever_the_limit(tmp_path: Path, max_bytes: int) -> None:
    segment = fill_segment(tmp_path, 30)
    seen: list[int] = []
    while len(seen) < 30:
        data = read(segment, 10 * len(seen) + 3, max_bytes, (300, 300), True)
        assert data is not None
        assert len(data) <= max(max_bytes, segment.size_bytes // 30)
        seen += offsets(data)
    assert seen == list(range(0, 300, 10))


def test_a_first_batch_that_is_too_large_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 2)
    assert read(segment, 0, 100, (20, 20), False) == b""
    assert offsets(read(segment, 0, 100, (20, 20), True)) == [0]


def test_nothing_at_or_above_the_upper_offset_is_read(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 30)
    assert offsets(read(segment, 0, 10**6, (150, 300), True)) == list(range(0, 150, 10))
    assert read(segment, 150, 10**6, (150, 300), True) == b""
    assert offsets(read(segment, 10, 10**6, (25, 300), True)) == [10]


def test_an_offset_behind_the_last_batch_is_in_the_next_segment(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 3)
    assert segment.read(30, 1000, (50, 50), True) is None


def test_a_read_in_a_thread_gives_the_same(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 30)
    hot = read(segment, 42, 9000, (200, 300), False)
    fd = fs.dup(segment.fd)
    assert segment.read_in_thread(fd, 42, 9000, (200, 300), False)[0] == hot
    fs.close(fd)


def test_a_sealed_segment_reads_and_forgets(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 30)
    segment.seal()
    assert offsets(read(segment, 155, 10**6, (300, 300), True)) == list(range(150, 300, 10))
    segment.collect_garbage()
    assert segment.offset_index.loaded, "it was read since the last time"
    segment.collect_garbage()
    assert not segment.offset_index.loaded
    assert offsets(read(segment, 155, 10**6, (300, 300), True))[0] == 150


def test_the_last_time_index_entry_is_the_largest_timestamp(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 3)
    segment.seal()
    again = Segment(str(tmp_path), 0, segment.size_bytes, NOW_MS)
    assert again.largest_timestamp() == NOW_MS + 2 + 9


def test_a_segment_without_timestamps_is_as_old_as_its_file(tmp_path: Path) -> None:
    segment = Segment.create(str(tmp_path), 0, NOW_MS)
    os.utime(segment.path, (1000, 1000))
    assert segment.largest_timestamp() == 1_000_000


def test_truncation_cuts_file_and_indexes(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 30)
    size = segment.size_bytes // 30
    segment.truncate_to(155)
    assert segment.size_bytes == 15 * size == os.path.getsize(segment.path)
    assert segment.offset_index.entry(-1)[0] < 150
    assert segment.max_timestamp == NOW_MS + 14 + 9
    assert segment.restore_tail() == 150


@pytest.mark.parametrize("room", [0, 100])
def test_a_full_disk_leaves_whole_batches_and_a_later_append_succeeds(
    tmp_path: Path, room: int
) -> None:
    segment = fill_segment(tmp_path, 2)
    whole = segment.size_bytes
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole + room, limits[1]))
    try:
        with pytest.raises(DiskFull):
            segment.write(make_batch(10))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert segment.size_bytes == whole == os.path.getsize(segment.path)
    assert segment.write(make_batch(10)) == whole


def test_rubbish_in_the_file_is_named(tmp_path: Path) -> None:
    segment = fill_segment(tmp_path, 3)
    os.pwrite(segment.fd, bytes(20), segment.size_bytes // 3)
    segment._boundaries.clear()
    with pytest.raises(CorruptLog, match="no batch at position"):
        segment.locate(25, fs.pread, segment.fd)
