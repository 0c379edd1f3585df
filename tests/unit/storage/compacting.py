"""Compacts sample logs in this process, and reads what is left of them."""

from collections.abc import Iterator

from ottla.config.log import LogConfig
from ottla.config.storage import StorageConfig
from ottla.protocol.records.batch import BatchHeader, crc_of, iter_headers
from ottla.protocol.records.record import Record, read_records
from ottla.storage.cleaner import clean
from ottla.storage.cleaner_job import Cleaned, Job, Replacement
from ottla.storage.compactor import cleaning_for, job_for
from ottla.storage.log import Log
from tests.unit.storage.samples import NOW_MS

COMPACT = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    segment_bytes=4096,
    index_interval_bytes=200,
    delete_retention_ms=1000,
    file_delete_delay_ms=1,
)


def sealed_job(log: Log, now_ms: int = NOW_MS, memory_bytes: int = 1 << 20) -> Job:
    """The job of compacting everything up to the active segment."""
    storage = StorageConfig(log_cleaner_dedupe_buffer_size=memory_bytes)
    return job_for(log, cleaning_for(log, now_ms), storage, now_ms)


def roll(log: Log, now_ms: int = NOW_MS) -> None:
    """Seal what was appended, all of it replicated."""
    log.high_watermark = log.end_offset
    log.roll(now_ms)


def compact(log: Log, now_ms: int = NOW_MS, memory_bytes: int = 1 << 20) -> list[Replacement]:
    """One round of compaction, swapped in at once; what was replaced."""
    replaced = []
    for event in clean(sealed_job(log, now_ms, memory_bytes)):
        if isinstance(event, Replacement):
            old = [each for each in log.segments[:-1] if each.base_offset in event.old]
            log.replace_segments(old, [event.new], now_ms)
            replaced.append(event)
        elif isinstance(event, Cleaned):
            log.first_dirty_offset = event.end_offset
    return replaced


def batches_of(log: Log) -> Iterator[tuple[BatchHeader, bytes]]:
    """Every batch as a consumer fetches it, each CRC checked; the end must be reached."""
    offset = log.start_offset
    while offset < log.end_offset:
        result = log.read(offset, 1 << 20, log.end_offset, at_least_one=True)
        data = bytes(result.cold.read() if result.cold else result.data)
        assert data, f"a consumer is stuck at {offset}, the log ends at {log.end_offset}"
        for pos, header in iter_headers(data):
            assert crc_of(data, pos, header.size_bytes) == header.crc
            yield header, data[pos : pos + header.size_bytes]
            offset = header.last_offset + 1


def records_of(log: Log) -> list[Record]:
    """Every record that a read_committed consumer sees."""
    aborted = log.aborted_transactions(log.start_offset, log.end_offset)
    found: list[Record] = []
    for header, batch in batches_of(log):
        given_up = any(
            txn.producer_id == header.producer_id
            and txn.first_offset <= header.base_offset <= txn.last_offset
            for txn in aborted
        )
        if not header.is_control and not given_up:
            found += read_records(batch)
    return found


def view_of(log: Log) -> dict[bytes | None, bytes]:
    """The last value of every key, as a table built from the log would have it."""
    return last_values(records_of(log))


def last_values(records: list[Record]) -> dict[bytes | None, bytes]:
    """The same of any records."""
    table = {record.key: record.value for record in records}
    return {key: value for key, value in table.items() if value is not None}
