"""Compaction keeps what a table built from the log would hold, and every offset where it was."""

from pathlib import Path

import pytest

from ottla.base.errors import CorruptLog
from ottla.protocol.records.batch import patch_timestamps
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record, read_records
from ottla.storage.cleaner import clean
from ottla.storage.cleaner_job import (
    Cleaned,
    Failed,
    Progress,
    Replacement,
    decode_event,
    decode_job,
    encode_event,
    encode_job,
)
from ottla.storage.log import Log
from ottla.storage.log_read import ColdRead
from tests.unit.storage.compacting import (
    COMPACT,
    batches_of,
    compact,
    records_of,
    roll,
    sealed_job,
    view_of,
)
from tests.unit.storage.samples import NOW_MS, append, make_batch, make_marker, open_log


def put(log: Log, *pairs: tuple[bytes | None, bytes | None], **producer: int) -> None:
    records = [Record(0, NOW_MS, key, value) for key, value in pairs]
    append(log, build_batch(records, **producer))


def pairs_of(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records_of(log)]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path, COMPACT)


def test_only_the_last_record_of_a_key_is_left(log: Log) -> None:
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    put(log, (b"c", b"1"), (b"b", b"2"))
    roll(log)
    put(log, (b"a", b"3"))
    compact(log)
    assert pairs_of(log) == [(2, b"a", b"2"), (3, b"c", b"1"), (4, b"b", b"2"), (5, b"a", b"3")]
    assert log.first_dirty_offset == 5, "the active segment stays dirty, and shadows nothing"


def test_the_clean_part_gives_way_to_the_dirty_one(log: Log) -> None:
    put(log, (b"a", b"1"), (b"b", b"1"))
    roll(log)
    compact(log)
    put(log, (b"a", b"2"))
    roll(log)
    compact(log)
    assert pairs_of(log) == [(1, b"b", b"1"), (2, b"a", b"2")]
    assert [segment.base_offset for segment in log.segments] == [0, 3]


def test_untouched_batches_and_segments_stay_as_they_are(log: Log) -> None:
    put(log, (b"a", b"1"), (b"b", b"1"))
    before = Path(log.segments[0].path).read_bytes()
    roll(log)
    assert compact(log) == []
    assert Path(log.segments[0].path).read_bytes() == before
    assert not list(Path(log.directory).glob("*.cleaned"))


def test_records_without_key_are_dropped(log: Log) -> None:
    put(log, (None, b"1"), (b"a", b"1"), (None, None))
    roll(log)
    compact(log)
    assert pairs_of(log) == [(1, b"a", b"1")]


def test_a_tombstone_stays_until_its_horizon(log: Log) -> None:
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", None))
    roll(log)
    compact(log, NOW_MS)
    assert pairs_of(log) == [(1, b"b", b"1"), (2, b"a", None)]
    [(header, _), *_] = batches_of(log)
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW_MS + COMPACT.delete_retention_ms
    assert {record.timestamp for record in records_of(log)} == {NOW_MS}
    compact(log, NOW_MS + 999)
    assert pairs_of(log)[-1] == (2, b"a", None)
    compact(log, NOW_MS + 1000)
    assert pairs_of(log) == [(1, b"b", b"1")]


def test_the_last_batch_stays_if_only_as_a_header(log: Log) -> None:
    put(log, (b"a", b"1"))
    put(log, (b"b", None))
    roll(log)
    compact(log, NOW_MS)
    compact(log, NOW_MS + 1000)
    assert [header.count for header, _ in batches_of(log)] == [1, 0]
    assert log.end_offset == 2, "batches_of has read up to here"
    put(log, (b"a", b"2"))
    roll(log)
    compact(log, NOW_MS + 1000)
    assert pairs_of(log) == [(2, b"a", b"2")]
    assert [header.base_offset for header, _ in batches_of(log)] == [2]


def test_readers_pass_over_a_segment_of_which_nothing_is_left(log: Log) -> None:
    for n in range(3):
        put(log, (b"a", b"%d" % n * 3000))
        roll(log)
    compact(log)
    assert [segment.size_bytes > 0 for segment in log.segments] == [False, False, True, False]
    [(first, _)] = batches_of(log)
    assert (first.base_offset, first.count) == (2, 1), "no header that only says where it was"


def test_small_segments_are_merged(log: Log) -> None:
    for n in range(6):
        put(log, (b"key-%d" % n, b"v" * 1200), (b"same", b"%d" % n))
        roll(log)
    compact(log)
    assert [segment.base_offset for segment in log.segments] == [0, 6, 12]
    assert all(segment.size_bytes <= COMPACT.segment_bytes for segment in log.segments)
    assert len(view_of(log)) == 7


def test_a_small_map_takes_several_rounds(log: Log) -> None:
    for n in range(30):
        put(log, *((b"key-%d" % (n * 7 % 200 + m), b"%d" % n) for m in range(50)))
    roll(log)
    before = view_of(log)
    rounds = 0
    while log.first_dirty_offset < log.segments[-1].base_offset:
        known = log.first_dirty_offset
        compact(log, memory_bytes=8_000)
        assert log.first_dirty_offset > known
        assert view_of(log) == before
        rounds += 1
    assert rounds > 2
    assert len(records_of(log)) == len(before)


def test_an_active_producer_goes_on_behind_its_compacted_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path, COMPACT)
    append(log, make_batch(3, producer_id=7, sequence=0))
    append(log, make_batch(2, producer_id=7, sequence=3))
    put(log, (b"key", b"other"))
    roll(log)
    compact(log)
    assert [(header.base_offset, header.count) for header, _ in batches_of(log)] == [(3, 0), (5, 1)]
    for path in Path(log.directory).glob("*.snapshot"):
        path.unlink()
    log.close(clean=False)
    again = open_log(tmp_path, COMPACT, clean=False)
    retried = append(again, make_batch(2, producer_id=7, sequence=3))
    assert (retried.duplicate, retried.base_offset) == (True, 3)
    assert append(again, make_batch(1, producer_id=7, sequence=5)).base_offset == 6


def test_an_expired_producer_leaves_no_empty_batch(log: Log) -> None:
    append(log, make_batch(3, producer_id=7))
    put(log, (b"key", b"other"))
    log.producers.expire(NOW_MS + 10, 5)
    roll(log)
    compact(log)
    assert [header.base_offset for header, _ in batches_of(log)] == [3]


def test_aborted_data_go_and_their_marker_follows(log: Log) -> None:
    put(log, (b"a", b"1"))
    append(log, make_batch(producer_id=7, transactional=True, value=b"given up"))
    append(log, make_marker(7, commit=False))
    append(log, make_batch(producer_id=8, transactional=True, value=b"kept"))
    append(log, make_marker(8, commit=True))
    log.producers.expire(NOW_MS + 10, 5)
    put(log, (b"z", b"1"))
    roll(log)
    compact(log)
    assert [header.base_offset for header, _ in batches_of(log)] == [0, 2, 3, 4, 5]
    assert view_of(log) == {b"a": b"1", b"key": b"kept", b"z": b"1"}
    assert len(log.aborted_transactions(0, 6)) == 1, "the marker was met together with its data"
    compact(log)
    stamped = {header.base_offset: header.has_delete_horizon for header, _ in batches_of(log)}
    assert stamped == {0: False, 2: True, 3: False, 4: False, 5: False}
    assert log.aborted_transactions(0, 6) == []
    compact(log, NOW_MS + 1000)
    assert [header.base_offset for header, _ in batches_of(log)] == [0, 3, 4, 5]


def test_a_transaction_that_ends_in_a_later_segment_is_known(log: Log) -> None:
    put(log, (b"key", b"1"))
    append(log, make_batch(producer_id=7, transactional=True, value=b"given up"))
    put(log, (b"z", b"1"))
    roll(log)
    append(log, make_marker(7, commit=False))
    log.high_watermark = log.end_offset
    log.producers.expire(NOW_MS + 10, 5)
    compact(log)
    assert pairs_of(log) == [(0, b"key", b"1"), (2, b"z", b"1")]


def test_an_open_transaction_shadows_nothing(log: Log) -> None:
    put(log, (b"key", b"1"))
    append(log, make_batch(producer_id=7, transactional=True, value=b"undecided"))
    put(log, (b"z", b"1"))
    roll(log)
    assert sealed_job(log).segments == []


def test_a_marker_stays_as_long_as_its_producer_has_no_data(log: Log) -> None:
    append(log, make_marker(7, epoch=3, commit=True))
    put(log, (b"a", b"1"))
    roll(log)
    compact(log, NOW_MS)
    compact(log, NOW_MS + 1000)
    [(header, _), _] = batches_of(log)
    assert (header.producer_id, header.producer_epoch, header.count) == (7, 3, 0)


def test_damage_is_reported_and_nothing_replaced(log: Log) -> None:
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"))
    roll(log)
    path = Path(log.segments[0].path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptLog, match="no sound batch at"):
        list(clean(sealed_job(log)))


def test_a_batch_with_a_false_count_is_reported(log: Log) -> None:
    batch = build_batch([Record(0, NOW_MS, b"a", b"1")])
    lying = bytearray(batch)
    lying[26] = lying[60] = 2  # last offset delta and count
    patch_timestamps(lying, 0, len(lying), NOW_MS, log_append_time=False)
    append(log, lying)
    roll(log)
    with pytest.raises(CorruptLog, match="batch at 0"):
        list(clean(sealed_job(log)))


def test_reads_that_wait_for_the_disk_go_through_the_swap(log: Log) -> None:
    for n in range(20):
        put(log, (b"a", b"%d" % n), (b"b%d" % n, b"x"))
    roll(log)
    old = log.segments[0]
    cold = ColdRead(old, 30, 1 << 20, (40, 40), True)
    old.offset_index.load(wait=True)
    compact(log)
    records = read_records(cold.read())
    assert [(record.offset, record.value) for record in records] == [(30, b"15"), (31, b"x")]


def test_jobs_and_events_survive_their_trip() -> None:
    events = (Progress(1, 2), Replacement([0, 5], 0), Cleaned(9), Failed("CorruptLog", 'a "b"\n'))
    assert [decode_event(encode_event(event)) for event in events] == [*events]
    assert all(encode_event(event).count(b"\n") == 1 for event in events)


def test_a_job_survives_its_trip(log: Log) -> None:
    append(log, make_batch(producer_id=7, transactional=True))
    roll(log)
    append(log, make_marker(7, commit=False))
    log.high_watermark = log.end_offset
    job = sealed_job(log)
    assert job.later_aborted
    assert decode_job(encode_job(job)) == job


def test_producer_snapshots_of_merged_segments_go_with_them(tmp_path: Path) -> None:
    log = open_log(tmp_path, COMPACT)
    for n in range(40):
        append(log, make_batch(1, value=b"x" * 400, producer_id=7, sequence=n))
        roll(log)
    assert compact(log)
    bases = {segment.base_offset for segment in log.segments}
    assert len(bases) < 10
    snapshots = {int(path.stem) for path in Path(log.directory).glob("*.snapshot")}
    assert len(snapshots - bases) <= 1
    assert snapshots <= bases | {log.end_offset}
    known = list(log.producers.entries())
    log.close(clean=False)
    again = open_log(tmp_path, COMPACT, clean=False)
    assert [entry.last_sequence for entry in again.producers.entries()] == [
        entry.last_sequence for entry in known
    ]
