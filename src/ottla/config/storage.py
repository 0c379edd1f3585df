"""Pure: StorageConfig, where logs are kept, and how often their upkeep runs."""

from dataclasses import dataclass

from ottla.base.units import DAY_MS, LONG_MAX, MINUTE_MS, SECOND_MS, MiB
from ottla.config.kinds import Bool, Double, Int, ListOf, Long
from ottla.config.setting import Scope, Synonym, setting

EVERYWHERE = Scope.CLUSTER_WIDE

LOG_DIR = Synonym(
    "log.dir",
    ("ottla-data",),
    ListOf(empty=False),
    lambda directories: directories,
    "Gives the directory of the logs where log.dirs is not set.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    """Directories and upkeep of all logs of the broker."""

    log_dirs: tuple[str, ...] = setting(
        "log.dirs",
        LOG_DIR.default,
        ListOf(empty=False),
        synonyms=(LOG_DIR,),
        importance="high",
        doc="Lists the directories that logs are spread over.",
    )
    log_retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms",
        5 * MINUTE_MS,
        Long(1),
        doc="Looks for segments to delete this often.",
    )
    log_initial_task_delay_ms: int = setting(
        "log.initial.task.delay.ms",
        30 * SECOND_MS,
        Long(0),
        importance="low",
        doc="Begins the upkeep of logs this long after the start.",
    )
    log_flush_offset_checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms",
        MINUTE_MS,
        Int(0),
        importance="high",
        doc="Writes down this often up to where each log is safely on disk.",
    )
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        "log.flush.start.offset.checkpoint.interval.ms",
        MINUTE_MS,
        Int(0),
        importance="high",
        doc="Writes down this often where each log begins.",
    )
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        "replica.high.watermark.checkpoint.interval.ms",
        5 * SECOND_MS,
        Long(1),
        importance="high",
        doc="Writes down the high watermark of each partition this often.",
    )
    log_cleaner_enable: bool = setting(
        "log.cleaner.enable",
        True,
        Bool(),
        doc="Runs the compaction of topics whose cleanup.policy asks for it.",
    )
    log_cleaner_backoff_ms: int = setting(
        "log.cleaner.backoff.ms",
        15 * SECOND_MS,
        Long(0),
        scope=EVERYWHERE,
        doc="Waits this long before it looks again, when no log needs compaction.",
    )
    log_cleaner_dedupe_buffer_size: int = setting(
        "log.cleaner.dedupe.buffer.size",
        128 * MiB,
        Long(1 * MiB),
        scope=EVERYWHERE,
        doc="Limits the memory that one compaction uses to remember keys.",
    )
    log_cleaner_io_max_bytes_per_second: float = setting(
        "log.cleaner.io.max.bytes.per.second",
        1.7976931348623157e308,
        Double(0),
        scope=EVERYWHERE,
        doc="Limits the bytes that compaction reads and writes in a second.",
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = setting(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG_MAX,
        Long(1),
        scope=Scope.PER_BROKER,
        doc="Limits the bytes that each log is copied with, in a second, when it moves to another directory.",
    )
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        DAY_MS,
        Int(1),
        scope=EVERYWHERE,
        importance="low",
        doc="Forgets an idempotent producer that wrote nothing to a partition for this long.",
    )
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        10 * MINUTE_MS,
        Int(1),
        importance="low",
        doc="Looks for producers to forget this often.",
    )
    stray_retention_ms: int = setting(
        "ottla.stray.retention.ms",
        DAY_MS,
        Long(-1),
        doc="Deletes the directory of a partition that the cluster does not know this long, and "
        "log.segment.delete.delay.ms, after it was set aside; -1 keeps it.",
    )
    max_producers: int = setting(
        "ottla.max.producers",
        500_000,
        Int(1),
        doc="Remembers at most this many idempotent producers, each counted for every partition it writes to; "
        "those that were silent for longest are forgotten, never one with a transaction open.",
    )
