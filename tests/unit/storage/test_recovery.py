"""Opening a directory after a clean stop and after a crash."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ottla.config.log import LogConfig
from ottla.protocol.records.batch import BatchHeader, crc_of, iter_headers, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.storage import fs
from ottla.storage.gaps import GAPS_FILE
from ottla.storage.log import Log
from ottla.storage.producer_state import Duplicate
from tests.unit.storage.compacting import compact, roll
from tests.unit.storage.samples import (
    NOW_MS,
    TP,
    append,
    fill,
    make_batch,
    make_marker,
    open_log,
    read_all,
    stored_headers,
)

SMALL = LogConfig(segment_bytes=8192, index_interval_bytes=1024)


def crash(log: Log) -> None:
    """Lose what is only in memory."""
    log.close(clean=False)


def checkpoint(log: Log) -> None:
    ticket = log.flush_begin(checkpoint=True)
    assert ticket is not None
    ticket.run()
    log.flush_done(ticket)


def index_bytes(log: Log) -> list[tuple[bytes, bytes]]:
    return [
        (bytes(each.offset_index.entries), bytes(each.time_index.entries)) for each in log.segments
    ]


def write_some(log: Log, batches: int = 40) -> list[BatchHeader]:
    sequences: dict[int, int] = {}
    for n in range(batches):
        pid = n % 3
        append(
            log,
            make_batch(
                10,
                value=b"x" * 100,
                timestamp=NOW_MS + n,
                producer_id=pid,
                sequence=sequences.get(pid, 0),
            ),
            leader_epoch=n // 15,
        )
        sequences[pid] = sequences.get(pid, 0) + 10
    return stored_headers(log)


def test_after_a_clean_stop_only_the_newest_segment_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path, SMALL)
    headers = write_some(log)
    epochs, producers = log.epochs.entries(), list(log.producers.entries())
    newest = [each for each in headers if each.base_offset >= log.segments[-1].base_offset]
    log.close()
    looked_at: list[int] = []

    def crc_and_note(*where: Any) -> int:
        looked_at.append(crc_of(*where))
        return looked_at[-1]

    monkeypatch.setattr("ottla.storage.recovery.crc_of", crc_and_note)
    again = open_log(tmp_path, SMALL)
    assert looked_at == [each.crc for each in newest] != [each.crc for each in headers]
    assert again.end_offset == again.synced_offset == again.recovery_point == 400
    assert again.epochs.entries() == epochs
    assert list(again.producers.entries()) == producers
    assert read_all(again) == headers


@pytest.mark.parametrize("from_end", [1, 60, 400])
def test_a_bit_that_was_flipped_after_a_clean_stop_is_found(tmp_path: Path, from_end: int) -> None:
    config = LogConfig(index_interval_bytes=100)
    log = open_log(tmp_path, config)
    headers = write_some(log)
    path, size = Path(log.segments[-1].path), log.segments[-1].size_bytes
    log.close()
    data = bytearray(path.read_bytes())
    data[-from_end] ^= 4
    path.write_bytes(data)
    damaged, position = 0, 0
    while position + headers[damaged].size_bytes <= size - from_end:
        position += headers[damaged].size_bytes
        damaged += 1
    again = open_log(tmp_path, config)
    assert again.end_offset == headers[damaged].base_offset
    assert [each.base_offset for each in read_all(again)] == [
        each.base_offset for each in headers[:damaged]
    ]


@pytest.mark.parametrize("batch", [-1, -9])
@pytest.mark.parametrize("bit", [0, 1, 30])
def test_a_leader_epoch_that_came_to_harm_after_a_clean_stop_is_mended(
    tmp_path: Path, batch: int, bit: int
) -> None:
    # No CRC covers it, and it decides where a follower cuts its log.
    log = open_log(tmp_path)
    headers = write_some(log)
    path = Path(log.segments[-1].path)
    log.close()
    data = bytearray(path.read_bytes())
    position = sum(each.size_bytes for each in headers[:batch])
    data[position + 15 - bit // 8] ^= 1 << bit % 8
    assert parse_header(data, position).leader_epoch != headers[batch].leader_epoch
    path.write_bytes(data)
    assert read_all(open_log(tmp_path)) == headers


@pytest.mark.parametrize("bit", [3, 40])
def test_an_offset_that_came_to_harm_after_a_clean_stop_is_found(tmp_path: Path, bit: int) -> None:
    log = open_log(tmp_path)
    headers = write_some(log)
    path = Path(log.segments[-1].path)
    log.close()
    data = bytearray(path.read_bytes())
    data[-headers[-1].size_bytes + 7 - bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    assert read_all(open_log(tmp_path)) == headers[:-1]


def test_retries_across_a_clean_stop_are_recognised(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for n in range(5):
        append(log, make_batch(2, producer_id=7, sequence=2 * n))
    log.close()
    log = open_log(tmp_path)
    for n in range(5):
        batch = parse_header(make_batch(2, producer_id=7, sequence=2 * n))
        assert log.producers.check(batch) == Duplicate(2 * n, 2 * n + 1)


def test_appends_go_on_after_a_clean_stop(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    reference = open_log(tmp_path / "reference", SMALL)
    for half in range(2):
        for n in range(20):
            batch = make_batch(10, value=b"x" * 100, timestamp=NOW_MS + 1000 * half + n)
            append(log, bytearray(batch))
            append(reference, batch)
        log.close()
        log = open_log(tmp_path, SMALL)
    assert [header.base_offset for header in read_all(log)] == list(range(0, 400, 10))
    assert [each.base_offset for each in log.segments] == [
        each.base_offset for each in reference.segments
    ]


def test_a_crash_loses_nothing_that_was_written(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    headers = write_some(log)
    epochs, producers = log.epochs.entries(), list(log.producers.entries())
    indexes = index_bytes(log)
    crash(log)
    again = open_log(tmp_path, SMALL, clean=False)
    assert read_all(again) == headers
    assert again.epochs.entries() == epochs
    assert list(again.producers.entries()) == producers
    assert [offsets for offsets, _ in index_bytes(again)] == [offsets for offsets, _ in indexes]


def test_only_what_lies_behind_the_recovery_point_is_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path)
    write_some(log, 300)
    checkpoint(log)
    append(log, make_batch(10))
    crash(log)
    checked: list[int] = []
    real = fs.pread
    monkeypatch.setattr("ottla.storage.recovery._SCAN_BYTES", 4096)

    def spy(fd: int, length: int, position: int) -> bytes:
        checked.append(position)
        return real(fd, length, position)

    monkeypatch.setattr(fs, "pread", spy)
    again = open_log(tmp_path, clean=False, recovery_point=log.recovery_point)
    assert again.end_offset == 3010
    assert min(checked) > 0.95 * again.size_bytes


@pytest.mark.parametrize("lost", [1, 30, 61, 100, 1000])
def test_a_torn_tail_is_cut_off(tmp_path: Path, lost: int) -> None:
    log = open_log(tmp_path, SMALL)
    headers = write_some(log)
    path = log.segments[-1].path
    crash(log)
    os.truncate(path, os.path.getsize(path) - lost)
    again = open_log(tmp_path, SMALL, clean=False)
    found = read_all(again)
    assert found == headers[: len(found)]
    assert again.end_offset == found[-1].last_offset + 1
    assert append(again, make_batch()).base_offset == again.end_offset - 1


def test_the_log_ends_at_the_first_bad_batch(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    headers = write_some(log)
    second = log.segments[1]
    crash(log)
    with open(second.path, "r+b") as file:
        file.seek(200)
        file.write(b"\xff")
    again = open_log(tmp_path, SMALL, clean=False)
    assert again.end_offset == second.base_offset
    assert read_all(again) == [each for each in headers if each.base_offset < second.base_offset]
    assert len(again.segments) == 2
    replay = open_log_from_scratch(again, tmp_path / "copy")
    assert list(again.producers.entries()) == list(replay.producers.entries())


def open_log_from_scratch(log: Log, copy: Path) -> Log:
    """The same batches in a directory without snapshots, epochs and indexes."""
    directory = copy / str(TP)
    directory.mkdir(parents=True)
    for segment in log.segments:
        shutil.copy(segment.path, directory)
    return open_log(copy, SMALL, clean=False)


def test_lost_indexes_are_rebuilt(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    write_some(log)
    log.close()
    before = {path.name: path.read_bytes() for path in Path(log.directory).glob("*index")}
    for path in Path(log.directory).glob("*index"):
        path.unlink()
    again = open_log(tmp_path, SMALL)
    again.close()
    after = {path.name: path.read_bytes() for path in Path(log.directory).glob("*index")}
    active = f"{again.segments[-1].base_offset:020d}"
    assert {name: data for name, data in after.items() if active not in name} == {
        name: data for name, data in before.items() if active not in name
    }
    assert len(read_all(open_log(tmp_path, SMALL))) == 40


def test_a_damaged_snapshot_is_replaced_by_a_longer_replay(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    write_some(log)
    producers = list(log.producers.entries())
    log.close()
    for path in Path(log.directory).glob("*.snapshot"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert list(open_log(tmp_path, SMALL).producers.entries()) == producers


def test_a_damaged_snapshot_of_a_checkpoint_costs_only_a_longer_replay(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    write_some(log, 100)
    checkpoint(log)
    write_some_more(log)
    producers = list(log.producers.entries())
    crash(log)
    Path(log.directory, f"{log.recovery_point:020d}.snapshot").write_bytes(b"rubbish")
    again = open_log(tmp_path, clean=False, recovery_point=log.recovery_point)
    assert sorted(again.producers.entries()) == sorted(producers)


def write_some_more(log: Log) -> None:
    for pid in range(10, 15):
        append(log, make_batch(producer_id=pid))


def test_the_transaction_index_is_rebuilt(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for n in range(20):
        append(log, make_batch(5, value=b"x" * 100, producer_id=n, transactional=True))
        append(log, make_marker(n, commit=n % 2 == 0))
        if n == 9:
            checkpoint(log)
    append(log, make_batch(producer_id=50, transactional=True))
    aborted = log.aborted_transactions(0, log.end_offset)
    assert len(aborted) == 10
    crash(log)
    for point in (0, log.recovery_point):
        again = open_log(tmp_path, SMALL, clean=False, recovery_point=point)
        assert again.aborted_transactions(0, again.end_offset) == aborted
        again.high_watermark = again.end_offset
        assert again.first_unstable_offset() == again.end_offset - 1
        crash(again)


def transactions(log: Log, count: int) -> list[BatchHeader]:
    """Transactions, each of one batch and the marker that aborts it."""
    for pid in range(count):
        append(log, make_batch(5, value=b"x" * 100, producer_id=pid, transactional=True))
        append(log, make_marker(pid, commit=False))
    return stored_headers(log)


def test_a_segment_too_small_for_an_index_keeps_its_aborted_transactions(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    transactions(log, 4)
    checkpoint(log)
    append(log, make_batch())
    crash(log)
    again = open_log(tmp_path, clean=False, recovery_point=log.recovery_point)
    assert len(again.aborted_transactions(0, again.end_offset)) == 4


@pytest.mark.parametrize("torn", [0, 7])
def test_an_aborted_transaction_whose_marker_was_lost_is_forgotten(
    tmp_path: Path, torn: int
) -> None:
    log = open_log(tmp_path)
    marker = transactions(log, 4)[-1]
    log.close(clean=True)
    path = log.segments[-1].path
    os.truncate(path, os.path.getsize(path) - (torn or marker.size_bytes))
    again = open_log(tmp_path, clean=True, recovery_point=log.end_offset)
    assert again.end_offset == log.end_offset - 1
    assert len(again.aborted_transactions(0, again.end_offset)) == 3
    append(again, make_marker(3, commit=False))
    assert len(again.aborted_transactions(0, again.end_offset)) == 4


def test_a_file_that_ends_where_its_last_index_entry_points_is_not_taken_for_empty(
    tmp_path: Path,
) -> None:
    log = open_log(tmp_path, SMALL)
    write_some(log, 4)
    log.close(clean=True)
    last_offset, position = log.segments[-1].offset_index.entry(-1)
    os.truncate(log.segments[-1].path, position)
    again = open_log(tmp_path, SMALL, clean=True, recovery_point=log.end_offset)
    assert again.end_offset == last_offset + 1 - 10


def test_a_log_that_ends_before_its_start_begins_anew(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    log.close()
    again = open_log(tmp_path, start_offset=1000)
    assert (again.start_offset, again.end_offset) == (1000, 1000)
    assert append(again, make_batch()).base_offset == 1000


COMPACT = replace(SMALL, cleanup_policy=frozenset({"compact"}))


def compacted_log(parent: Path) -> Log:
    """A log with gaps between batches, in sealed segments and before the active one."""
    log = open_log(parent, COMPACT)
    for n in range(100):
        key = b"often" if n % 4 else b"once %d" % n
        append(log, build_batch([Record(0, NOW_MS + n, key, b"x" * 400)]))
    roll(log)
    assert compact(log)
    append(log, make_batch(3))
    assert len({each.base_offset for each in stored_headers(log)}) < 101
    return log


@pytest.mark.parametrize("recovery_point", [0, 50])
def test_gaps_of_compaction_are_no_damage_once_the_policy_is_delete(
    tmp_path: Path, recovery_point: int
) -> None:
    log = compacted_log(tmp_path)
    headers = stored_headers(log)
    crash(log)
    again = open_log(tmp_path, SMALL, clean=False, recovery_point=recovery_point)
    assert read_all(again) == headers
    assert again.end_offset == 103


def test_gaps_that_a_follower_copied_are_no_damage(tmp_path: Path) -> None:
    leader = compacted_log(tmp_path / "leader")
    headers = stored_headers(leader)
    follower = open_log(tmp_path / "follower", SMALL)
    for segment in leader.segments:
        follower.append_replicated(Path(segment.path).read_bytes(), NOW_MS)
    crash(follower)
    again = open_log(tmp_path / "follower", SMALL, clean=False)
    assert read_all(again) == headers


@pytest.mark.parametrize("config", [SMALL, COMPACT])
def test_a_gap_behind_what_was_compacted_is_damage_under_any_policy(
    tmp_path: Path, config: LogConfig
) -> None:
    log = compacted_log(tmp_path)
    headers = stored_headers(log)
    for n in range(60):
        append(log, make_batch(1, value=b"y" * 400, timestamp=NOW_MS + n))
    sealed = log.segments[-2]
    crash(log)
    cut = Path(sealed.path)
    lost_tail = [header for _, header in iter_headers(cut.read_bytes())][-1]
    os.truncate(cut, cut.stat().st_size - lost_tail.size_bytes)
    again = open_log(tmp_path, config, clean=False)
    assert again.end_offset == lost_tail.base_offset > headers[-1].last_offset


def test_gaps_of_a_log_that_an_older_build_wrote_are_no_damage(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    headers = stored_headers(log)
    crash(log)
    os.unlink(f"{log.directory}/{GAPS_FILE}")
    again = open_log(tmp_path, SMALL, clean=False)
    assert read_all(again) == headers

    assert again.gaps.below == 103
