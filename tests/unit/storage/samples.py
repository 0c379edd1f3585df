"""Batches and logs that the storage tests build on."""

import uuid
from pathlib import Path

from ottla.base.ids import TopicPartition
from ottla.config.log import LogConfig
from ottla.protocol.records.batch import BatchHeader, iter_headers, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.protocol.records.record import Record
from ottla.storage.log import Appended, Log

NOW_MS = 1_700_000_000_000
TP = TopicPartition("orders", 0)
TOPIC_ID = uuid.UUID("b8aa92ec-1f08-4d3e-a3cd-5dc9e2ff4f6b")


def make_batch(
    count: int = 1,
    *,
    value: bytes = b"value",
    timestamp: int = NOW_MS,
    producer_id: int = -1,
    epoch: int = 0,
    sequence: int = 0,
    transactional: bool = False,
) -> bytearray:
    """A batch as a producer sends it; its records are one millisecond apart."""
    has_producer = producer_id >= 0
    return build_batch(
        [Record(n, timestamp + n, b"key", value) for n in range(count)],
        producer_id=producer_id,
        producer_epoch=epoch if has_producer else -1,
        base_sequence=sequence if has_producer else -1,
        transactional=transactional,
    )


def make_marker(
    producer_id: int, epoch: int = 0, *, commit: bool, coordinator: int = 0
) -> bytearray:
    """A control batch that ends a transaction."""
    return build_end_transaction_marker(
        EndTransactionMarker(commit, coordinator),
        producer_id=producer_id,
        producer_epoch=epoch,
        now_ms=NOW_MS,
    )


def open_log(
    parent: Path,
    config: LogConfig | None = None,
    *,
    clean: bool = True,
    recovery_point: int = 0,
    start_offset: int = 0,
    now_ms: int = NOW_MS,
) -> Log:
    """The log of the sample partition under a directory."""
    return Log.open(
        str(parent / str(TP)),
        TP,
        config or LogConfig(),
        topic_id=TOPIC_ID,
        clean_shutdown=clean,
        recovery_point=recovery_point,
        log_start_offset=start_offset,
        now_ms=now_ms,
    )


def append(log: Log, batch: bytearray, *, leader_epoch: int = 0, now_ms: int = NOW_MS) -> Appended:
    """Append a batch as a leader does."""
    return log.append(memoryview(batch), parse_header(batch), leader_epoch, now_ms)


def fill(log: Log, batches: int, *, count: int = 10, value: bytes = b"x" * 100) -> None:
    """Append batches, each a second younger than the one before."""
    for n in range(batches):
        append(log, make_batch(count, value=value, timestamp=NOW_MS + 1000 * n))


def stored_headers(log: Log) -> list[BatchHeader]:
    """Every batch header in the files, read without any index."""
    found = []
    for segment in log.segments:
        data = Path(segment.path).read_bytes()
        found += [header for _, header in iter_headers(data)]
    return found


def read_all(log: Log, max_bytes: int = 1 << 20) -> list[BatchHeader]:
    """Every batch header, as a consumer fetches them one read after the other."""
    found: list[BatchHeader] = []
    offset = log.start_offset
    while offset < log.end_offset:
        result = log.read(offset, max_bytes, log.end_offset, at_least_one=True)
        data = result.cold.read() if result.cold else result.data
        headers = [header for _, header in iter_headers(data)]
        assert headers, f"no progress at offset {offset}"
        found += headers
        offset = headers[-1].last_offset + 1
    return found
