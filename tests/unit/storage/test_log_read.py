"""Reading: by offset, by time, cold."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.base.errors import OffsetOutOfRange
from ottla.config.log import LogConfig
from ottla.protocol.records.batch import iter_headers
from ottla.storage import fs
from ottla.storage.log import Log
from ottla.storage.log_read import ColdRead, Found
from ottla.storage.txn_index import AbortedTxn, TxnIndex
from tests.unit.storage.samples import (
    NOW_MS,
    append,
    fill,
    make_batch,
    make_marker,
    open_log,
    read_all,
)

SMALL = LogConfig(segment_bytes=8192, index_interval_bytes=1024)


@pytest.mark.parametrize("max_bytes", [1, 100, 1500, 5000, 1 << 20])
def test_a_consumer_sees_every_batch_once(tmp_path: Path, max_bytes: int) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 40)
    assert [header.base_offset for header in read_all(log, max_bytes)] == list(range(0, 400, 10))


def offset_for_time(log: Log, timestamp_ms: int, upper: int) -> Found | None:
    return next((f for scan in log.scans_for_time(timestamp_ms, upper) if (f := scan())), None)


def max_timestamp_offset(log: Log, upper: int) -> Found | None:
    return next((f for scan in log.scans_for_max_timestamp(upper) if (f := scan())), None)


def test_the_end_of_the_log_is_readable_but_empty(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 2)
    assert log.read(20, 1000, 20).data == b""
    with pytest.raises(OffsetOutOfRange, match=r"0\.\.20"):
        log.read(21, 1000, 21)


def test_reads_stop_at_the_upper_offset(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 40)
    for upper in range(0, 400, 10):
        data = log.read(0, 1 << 20, upper).data
        assert all(header.last_offset < upper for _, header in iter_headers(data))
    assert log.read(50, 1 << 20, 50, at_least_one=True).data == b""


def test_a_cold_read_waits_in_a_thread_and_outlives_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_cached(fd: int, length: int, position: int) -> bytes:
        raise fs.WouldBlock

    log = open_log(tmp_path, SMALL)
    fill(log, 40)
    log.close()
    log = open_log(tmp_path, SMALL)
    expected = bytes(log.read(0, 3000, 400).data)
    monkeypatch.setattr(fs, "pread_nowait", not_cached)
    cold = log.read(0, 3000, 400).cold
    assert cold is not None
    fs.unlink(log.delete_expired(NOW_MS + 10**10, 400))
    assert bytes(cold.read()) == expected


def test_a_cold_read_nobody_wants_gives_its_descriptor_back(tmp_path: Path) -> None:
    from ottla.storage.log_read import ColdRead

    log = open_log(tmp_path)
    fill(log, 1)
    cold = ColdRead(log.segments[0], 0, 100, (10, 10), True)
    cold.close()
    cold.close()


def test_lookup_by_time_goes_down_to_the_record(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for n in range(40):
        append(
            log, make_batch(10, value=b"x" * 100, timestamp=NOW_MS + 10 * n), leader_epoch=n // 20
        )
    for wanted in (0, 5, 37, 399):
        assert offset_for_time(log, NOW_MS + wanted, 400) == (
            wanted,
            NOW_MS + wanted,
            wanted // 200,
        )
    assert offset_for_time(log, 0, 400) == (0, NOW_MS, 0)
    assert offset_for_time(log, NOW_MS + 400, 400) is None
    assert offset_for_time(log, NOW_MS + 399, 399) is None


def test_lookup_by_time_copes_with_times_out_of_order(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for n in (5, 1, 9, 3, 2):
        append(log, make_batch(timestamp=NOW_MS + n))
    assert offset_for_time(log, NOW_MS + 1, 5) == (0, NOW_MS + 5, 0)
    assert offset_for_time(log, NOW_MS + 6, 5) == (2, NOW_MS + 9, 0)


def test_lookup_by_time_starts_at_the_log_start(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, make_batch(10))
    log.advance_start_offset(4)
    assert offset_for_time(log, NOW_MS, 10) == (4, NOW_MS + 4, 0)


def test_the_largest_timestamp(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    assert max_timestamp_offset(log, 0) is None
    for n in (5, 9, 3):
        append(log, make_batch(3, timestamp=NOW_MS + 100 * n))
    assert max_timestamp_offset(log, 9) == (5, NOW_MS + 902, 0)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 2000), min_size=1, max_size=40),
    offset=st.integers(0, 39),
    max_bytes=st.integers(0, 20_000),
    upper=st.integers(0, 40),
)
def test_any_read_is_a_run_of_whole_batches(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    offset: int,
    max_bytes: int,
    upper: int,
) -> None:
    log = open_log(tmp_path_factory.mktemp("log"), SMALL)
    for size in sizes:
        append(log, make_batch(value=b"x" * size))
    offset, upper = min(offset, len(sizes)), min(upper, len(sizes))
    data = log.read(offset, max_bytes, upper, at_least_one=True).data
    headers = [header for _, header in iter_headers(data)]
    assert sum(header.size_bytes for header in headers) == len(data)
    assert [header.base_offset for header in headers] == [*range(offset, offset + len(headers))]
    assert bool(headers) == (offset < upper)
    assert not headers or headers[-1].last_offset < upper
    log.close(clean=False)


@pytest.fixture(scope="module")
def many_aborted(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of several segments in which every other one of 600 transactions was aborted."""
    log = open_log(
        tmp_path_factory.mktemp("aborted"),
        LogConfig(segment_bytes=40_000, index_interval_bytes=1024),
    )
    for n in range(600):
        append(log, make_batch(2, producer_id=n % 5, sequence=2 * (n // 5), transactional=True))
        append(log, make_marker(n % 5, commit=n % 2 == 0))
    log.high_watermark = log.end_offset
    assert len(log.segments) > 2
    return log


@pytest.mark.parametrize("max_bytes", [1, 500, 5000, 100_000])
@pytest.mark.parametrize("is_cold", [False, True])
def test_aborted_transactions_are_named_up_to_the_end_of_what_was_read(
    many_aborted: Log, max_bytes: int, is_cold: bool
) -> None:
    log = many_aborted
    everything = log.aborted_transactions(0, log.end_offset)
    for offset in range(0, log.end_offset, 7):
        found = log.read(offset, max_bytes, log.end_offset, at_least_one=True)
        number = log.segment_number(offset)
        upper = log.end_offset, log.segment_end(number)
        cold = ColdRead(log.segments[number], offset, max_bytes, upper, at_least_one=True)
        data, bound = (cold.read(), cold.end_bound) if is_cold else (found.data, found.end_bound)
        end = [header.last_offset + 1 for _, header in iter_headers(data)][-1]
        assert end <= bound <= end + 60, "no more than an entry of the index behind it"
        assert cold.is_within(log)
        named = log.aborted_transactions(offset, bound)
        needed = [
            each for each in everything if offset <= each.last_offset and each.first_offset < end
        ]
        assert named[: len(needed)] == needed


def test_a_fetch_in_a_log_of_many_aborted_transactions_looks_at_few_of_them(tmp_path: Path) -> None:
    index = TxnIndex(str(tmp_path / "0.txnindex"), 0)
    index.reset()
    for n in range(100_000):
        index.append(AbortedTxn(7, 3 * n, 3 * n + 2, 3 * n + 3))
    began = time.process_time()
    found = [index.collect(3 * n, 3 * n + 30) for n in range(0, 100_000, 100)]
    # A thousand fetches; each took 60 ms when it looked at all of them.
    assert time.process_time() - began < 2
    assert max(len(each) for each, _ in found) == 10
    assert all(complete for _, complete in found[:-1])
