"""What is computed when somebody asks for the metrics: sizes and rates that exist anyway."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ottla.base.metrics import gauge
from ottla.broker import metrics
from ottla.broker.fetch_sessions import FetchSessions
from ottla.replication.partitions import Partitions
from ottla.storage.logs import Logs

_LABELS = ("topic", "partition")

END_OFFSET = gauge(
    "ottla_partition_end_offset", "The offset behind a partition's last record.", _LABELS
)
START_OFFSET = gauge("ottla_partition_start_offset", "The first offset a partition holds.", _LABELS)
HIGH_WATERMARK = gauge("ottla_partition_high_watermark", "The end of what is committed.", _LABELS)
SIZE_BYTES = gauge("ottla_partition_size_bytes", "Bytes of a partition's log.", _LABELS)
BYTES_IN = gauge(
    "ottla_partition_bytes_in_per_second", "Bytes produced, over the last minute.", _LABELS
)
BYTES_OUT = gauge(
    "ottla_partition_bytes_out_per_second", "Bytes fetched, over the last minute.", _LABELS
)
MESSAGES_IN = gauge(
    "ottla_partition_messages_in_per_second", "Records produced, over the last minute.", _LABELS
)
OFFLINE_DIRECTORIES = gauge(
    "ottla_offline_log_directories", "Log directories that failed and wait for a restart."
)

_Rows = Iterator[tuple[tuple[str, ...], float]]


def watch_gauges(partitions: Partitions, sessions: FetchSessions, logs: Logs) -> None:
    """Point the gauges at a running broker."""

    def rows(of: str) -> _Rows:
        for partition in partitions:
            value = getattr(partition, of) if hasattr(partition, of) else getattr(partition.log, of)
            yield (partition.tp.topic, str(partition.tp.partition)), value

    def rates(of: str) -> _Rows:
        now = time.time_ns() // 1_000_000
        for partition in partitions:
            ring = getattr(partition, of)
            yield (partition.tp.topic, str(partition.tp.partition)), ring.per_second(now)

    END_OFFSET.set_rows(lambda: rows("end_offset"))
    START_OFFSET.set_rows(lambda: rows("start_offset"))
    HIGH_WATERMARK.set_rows(lambda: rows("high_watermark"))
    SIZE_BYTES.set_rows(lambda: rows("size_bytes"))
    BYTES_IN.set_rows(lambda: rates("bytes_in"))
    BYTES_OUT.set_rows(lambda: rates("bytes_out"))
    MESSAGES_IN.set_rows(lambda: rates("messages_in"))
    metrics.FETCH_SESSIONS.set_function(lambda: len(sessions))
    metrics.FETCH_SESSION_EVICTIONS.set_function(lambda: sessions.evictions)
    OFFLINE_DIRECTORIES.set_function(lambda: sum(each.offline is not None for each in logs.dirs))
