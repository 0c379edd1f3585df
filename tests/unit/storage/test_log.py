"""One partition's log: appends, rolls, retries, truncation, deletion."""

import os
from pathlib import Path

import pytest

from ottla.base.errors import ApiError, CorruptLog, LogDirOffline, OffsetOutOfRange
from ottla.config.log import LogConfig
from ottla.protocol.errors import ErrorCode
from tests.unit.storage.samples import (
    NOW_MS,
    append,
    fill,
    make_batch,
    make_marker,
    open_log,
    read_all,
    stored_headers,
)

SMALL = LogConfig(segment_bytes=8192, index_interval_bytes=1024)


def test_batches_get_the_next_offsets_and_the_leader_epoch(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    first = append(log, make_batch(3), leader_epoch=4)
    second = append(log, make_batch(2), leader_epoch=5)
    assert (first.base_offset, first.last_offset) == (0, 2)
    assert (second.base_offset, second.last_offset) == (3, 4)
    assert [header.leader_epoch for header in stored_headers(log)] == [4, 5]
    assert log.end_offset == 5
    assert log.end_offset_for_epoch(4) == (4, 3)


def test_a_batch_sent_again_is_answered_and_not_stored(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    batch = make_batch(3, producer_id=7)
    append(log, bytearray(batch))
    size = log.size_bytes
    again = append(log, bytearray(batch))
    assert again.duplicate
    assert (again.base_offset, again.last_offset) == (0, 2)
    assert log.size_bytes == size


def test_a_refused_sequence_changes_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, make_batch(3, producer_id=7))
    with pytest.raises(ApiError) as raised:
        append(log, make_batch(3, producer_id=7, sequence=9))
    assert raised.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.end_offset == 3


def test_segments_roll_by_size_and_leave_snapshots(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    assert len(log.segments) > 3
    assert all(segment.size_bytes <= 8192 for segment in log.segments)
    for segment in log.segments[1:]:
        assert os.path.exists(segment.path.removesuffix(".log") + ".snapshot")
    assert len(read_all(log)) == 30


def test_a_batch_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    with pytest.raises(ApiError) as raised:
        append(log, make_batch(value=b"x" * 9000))
    assert raised.value.code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_segments_roll_by_the_age_of_their_first_record(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    append(log, make_batch(timestamp=NOW_MS))
    append(log, make_batch(timestamp=NOW_MS + 1000))
    assert len(log.segments) == 1
    append(log, make_batch(timestamp=NOW_MS + 1001))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_segments_roll_when_an_index_is_full(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_index_bytes=48, index_interval_bytes=0))
    fill(log, 10, count=1)
    assert len(log.segments) > 1
    assert all(segment.entry_count <= 3 for segment in log.segments)


def test_segments_roll_before_relative_offsets_overflow(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, make_batch())
    far = make_batch()
    far[0:8] = (2**31).to_bytes(8, "big")
    log.append_replicated(far, NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 2**31]
    assert log.end_offset == 2**31 + 1


def test_settings_may_change_while_the_log_is_open(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 10)
    log.config = SMALL
    fill(log, 10)
    assert len(log.segments) > 1


def test_a_follower_stores_what_the_leader_stored(tmp_path: Path) -> None:
    leader = open_log(tmp_path / "leader", SMALL)
    follower = open_log(tmp_path / "follower", SMALL)
    for n in range(30):
        append(
            leader,
            make_batch(5, producer_id=7, sequence=5 * n, value=b"x" * 150),
            leader_epoch=n // 10,
        )
    offset = 0
    while offset < leader.end_offset:
        data = leader.read(offset, 3000, leader.end_offset, at_least_one=True).data
        offset = follower.append_replicated(bytes(data) + b"torn", NOW_MS)
    assert stored_headers(follower) == stored_headers(leader)
    assert follower.epochs.entries() == leader.epochs.entries()
    assert list(follower.producers.entries()) == list(leader.producers.entries())


def test_a_follower_refuses_batches_it_already_has(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, make_batch(5))
    with pytest.raises(CorruptLog, match="expected 5"):
        log.append_replicated(make_batch(5), NOW_MS)


def test_truncation_removes_batches_epochs_and_producers(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for n in range(30):
        append(
            log,
            make_batch(10, value=b"x" * 100, producer_id=n // 10, sequence=n % 10 * 10),
            leader_epoch=n // 10,
        )
    log.truncate_to(155, NOW_MS)
    assert log.end_offset == 150
    assert [header.base_offset for header in read_all(log)] == list(range(0, 150, 10))
    assert log.epochs.entries() == [(0, 0), (1, 100)]
    assert [pid in log.producers for pid in (0, 1, 2)] == [True, True, False]
    entry = log.producers.entry(1)
    assert entry is not None
    assert entry.last_offset == 149
    assert append(log, make_batch(10, value=b"y")).base_offset == 150


def test_truncation_below_the_start_empties_the_log(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    log.reset_to(1000, NOW_MS)
    assert (log.start_offset, log.end_offset, log.size_bytes) == (1000, 1000, 0)
    assert append(log, make_batch()).base_offset == 1000
    assert len([name for name in os.listdir(log.directory) if name[0].isdigit()]) == 1


def test_the_start_offset_moves_and_its_segments_go_later(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    assert log.advance_start_offset(105)
    assert not log.advance_start_offset(50)
    with pytest.raises(OffsetOutOfRange):
        log.read(104, 1000, log.end_offset)
    with pytest.raises(OffsetOutOfRange):
        log.advance_start_offset(301)
    deleted = log.delete_expired(NOW_MS, log.end_offset)
    assert deleted
    assert log.segments[0].base_offset <= 105 < log.segments[1].base_offset
    assert log.start_offset == 105


def test_expired_segments_are_renamed_and_still_readable_by_cold_reads(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    deleted = log.delete_expired(NOW_MS + 10**10, log.end_offset)
    assert all(path.endswith(".deleted") and os.path.exists(path) for path in deleted)
    assert (log.start_offset, log.end_offset, log.size_bytes) == (300, 300, 0)
    assert append(log, make_batch()).base_offset == 300


def test_retention_stops_at_the_high_watermark(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    assert log.delete_expired(NOW_MS + 10**10, 0) == []
    boundary = log.segments[1].base_offset
    log.delete_expired(NOW_MS + 10**10, boundary)
    assert log.start_offset == boundary


def test_aborted_transactions_are_found_in_a_range(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for n in range(12):
        append(log, make_batch(10, value=b"x" * 100, producer_id=n, transactional=True))
        append(log, make_marker(n, commit=n % 3 != 0))
    assert len(log.segments) > 1
    found = log.aborted_transactions(0, log.end_offset)
    assert [txn.producer_id for txn in found] == [0, 3, 6, 9]
    assert [txn.producer_id for txn in log.aborted_transactions(34, 66)] == [3]
    assert [txn.producer_id for txn in log.aborted_transactions(34, 67)] == [3, 6]
    assert log.first_unstable_offset() == 0
    log.high_watermark = log.end_offset
    assert log.first_unstable_offset() is None


def test_transactions_that_nobody_reads_leave_nothing_behind_in_memory(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for sequence in range(50):
        append(log, make_batch(producer_id=1, sequence=sequence, transactional=True))
        log.high_watermark = log.end_offset
        append(log, make_marker(1, commit=True))
        log.high_watermark = log.end_offset
    assert len(log.producers._completed) == 1
    assert log.first_unstable_offset() is None


def test_a_closed_log_refuses_without_harming_its_directory(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    home = log.log_dir
    log.close()
    with pytest.raises(LogDirOffline, match="closed"):
        append(log, make_batch())
    assert home.offline is None


def test_compacted_segments_are_swapped_in(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    old = log.segments[:2]
    data = Path(old[0].path).read_bytes()
    kept = data[: len(data) // (old[1].base_offset // 10)]
    Path(log.directory, f"{0:020d}.log.cleaned").write_bytes(kept)
    Path(log.directory, f"{0:020d}.index.cleaned").write_bytes(b"")
    Path(log.directory, f"{0:020d}.timeindex.cleaned").write_bytes(b"")
    retired = log.replace_segments(old, [0], NOW_MS)
    assert any(path.endswith(".log.deleted") for path in retired)
    bases = [header.base_offset for header in read_all(log)]
    assert bases == [0, *range(log.segments[1].base_offset, 300, 10)]
