"""What storage counts about the upkeep of its logs."""

from ottla.base.metrics import counter, gauge

CLEANER_RUNS = counter("ottla_log_cleaner_runs_total", "Compactions of a log that were finished.")
CLEANER_FAILURES = counter(
    "ottla_log_cleaner_failures_total", "Compactions that failed; the log says why."
)
CLEANER_READ_BYTES = counter("ottla_log_cleaner_read_bytes_total", "Bytes that compaction read.")
CLEANER_WRITTEN_BYTES = counter(
    "ottla_log_cleaner_written_bytes_total", "Bytes that compaction wrote."
)
CLEANER_SECONDS = counter("ottla_log_cleaner_seconds_total", "Time that compactions took.")
CLEANER_MAX_DIRTY_RATIO = gauge(
    "ottla_log_cleaner_max_dirty_ratio", "Dirty part of the log that needs compaction most."
)
CLEANER_UNCLEANABLE = gauge(
    "ottla_log_cleaner_uncleanable_partitions",
    "Partitions not compacted any more because that failed; a restart tries again.",
)
PRODUCERS = gauge(
    "ottla_producers", "Producers that partitions remember, each counted for every partition."
)
PRODUCERS_FORGOTTEN = counter(
    "ottla_producers_forgotten_total", "Producers forgotten because of ottla.max.producers."
)
