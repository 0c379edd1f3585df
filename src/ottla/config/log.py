"""Pure: LogConfig, how the log of a topic is kept; broker settings that a topic may override."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ottla.base.errors import ConfigError
from ottla.base.units import DAY_MS, HOUR_MS, LONG_MAX, MINUTE_MS, GiB, KiB, MiB
from ottla.config.kafka import why_refused_for_topics
from ottla.config.kinds import (
    Bool,
    Double,
    Int,
    ListOf,
    Long,
    OneOf,
    OrMinusOne,
    SetOf,
    ThrottledReplicas,
)
from ottla.config.setting import Scope, Setting, Synonym, parse, setting, settings_of

EVERYWHERE = Scope.CLUSTER_WIDE


def _unlimited_or(unit_ms: int) -> Callable[[int], int]:
    return lambda amount: -1 if amount < 0 else amount * unit_ms


RETENTION_MINUTES = Synonym(
    "log.retention.minutes",
    None,
    Int(),
    _unlimited_or(MINUTE_MS),
    "Gives the retention time in minutes where log.retention.ms is not set.",
)
RETENTION_HOURS = Synonym(
    "log.retention.hours",
    168,
    Int(),
    _unlimited_or(HOUR_MS),
    "Gives the retention time in hours where neither milliseconds nor minutes are set.",
)
ROLL_HOURS = Synonym(
    "log.roll.hours",
    168,
    Int(1),
    lambda hours: hours * HOUR_MS,
    "Gives the time to roll a segment in hours where log.roll.ms is not set.",
)
ROLL_JITTER_HOURS = Synonym(
    "log.roll.jitter.hours",
    0,
    Int(0),
    lambda hours: hours * HOUR_MS,
    "Gives the jitter of rolling in hours where log.roll.jitter.ms is not set.",
)
FLUSH_SCHEDULER = Synonym(
    "log.flush.scheduler.interval.ms",
    LONG_MAX,
    Long(),
    lambda interval_ms: interval_ms,
    "Gives the age at which records are forced to disk where log.flush.interval.ms is not set.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The settings of one topic's logs; with no arguments, the defaults of Kafka 4.3."""

    cleanup_policy: frozenset[str] = setting(
        "log.cleanup.policy",
        frozenset({"delete"}),
        SetOf(ListOf("delete", "compact")),
        topic_name="cleanup.policy",
        scope=EVERYWHERE,
        doc="Decides whether old records are deleted, compacted to the last of each key, or both.",
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        -1,
        OrMinusOne(1, 9),
        topic_name="compression.gzip.level",
        scope=EVERYWHERE,
        doc="Sets how hard gzip tries where compression.type is gzip.",
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        9,
        Int(1, 17),
        topic_name="compression.lz4.level",
        scope=EVERYWHERE,
        doc="Sets how hard lz4 tries where compression.type is lz4.",
    )
    compression_type: str = setting(
        "compression.type",
        "producer",
        OneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        topic_name="compression.type",
        scope=EVERYWHERE,
        doc="Names the codec that batches are stored with; producer keeps them as they came.",
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        3,
        Int(-131072, 22),
        topic_name="compression.zstd.level",
        scope=EVERYWHERE,
        doc="Sets how hard zstd tries where compression.type is zstd.",
    )
    delete_retention_ms: int = setting(
        "log.cleaner.delete.retention.ms",
        DAY_MS,
        Long(0),
        topic_name="delete.retention.ms",
        scope=EVERYWHERE,
        doc="Keeps the tombstones of a compacted topic this long, for slow readers to see them.",
    )
    file_delete_delay_ms: int = setting(
        "log.segment.delete.delay.ms",
        MINUTE_MS,
        Long(0),
        topic_name="file.delete.delay.ms",
        scope=EVERYWHERE,
        doc="Leaves the files of a deleted segment on disk this long, for reads under way.",
    )
    flush_messages: int = setting(
        "log.flush.interval.messages",
        LONG_MAX,
        Long(1),
        topic_name="flush.messages",
        scope=EVERYWHERE,
        doc="Forces the log to disk after this many records; with 1, acks survive a power cut.",
    )
    flush_ms: int = setting(
        "log.flush.interval.ms",
        LONG_MAX,
        Long(0),
        topic_name="flush.ms",
        scope=EVERYWHERE,
        synonyms=(FLUSH_SCHEDULER,),
        doc="Forces the log to disk when its oldest unflushed record is this old.",
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        "",
        (),
        ThrottledReplicas(),
        topic_name="follower.replication.throttled.replicas",
        scope=EVERYWHERE,
        doc="Names replicas, as partition:broker or *, that are held back while they catch up (KIP-73).",
    )
    index_interval_bytes: int = setting(
        "log.index.interval.bytes",
        4 * KiB,
        Int(0),
        topic_name="index.interval.bytes",
        scope=EVERYWHERE,
        doc="Adds an entry to the offset index after this many bytes of log.",
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        "",
        (),
        ThrottledReplicas(),
        topic_name="leader.replication.throttled.replicas",
        scope=EVERYWHERE,
        doc="Names replicas, as partition:broker or *, that hold back those who catch up from them (KIP-73).",
    )
    max_compaction_lag_ms: int = setting(
        "log.cleaner.max.compaction.lag.ms",
        LONG_MAX,
        Long(1),
        topic_name="max.compaction.lag.ms",
        scope=EVERYWHERE,
        doc="Compacts a log at the latest when a record that may be compacted is this old.",
    )
    max_message_bytes: int = setting(
        "message.max.bytes",
        1 * MiB + 12,
        Int(0),
        topic_name="max.message.bytes",
        scope=EVERYWHERE,
        doc="Refuses batches, as they are stored, that are larger than this.",
    )
    message_timestamp_after_max_ms: int = setting(
        "log.message.timestamp.after.max.ms",
        HOUR_MS,
        Long(0),
        topic_name="message.timestamp.after.max.ms",
        scope=EVERYWHERE,
        doc="Refuses records whose timestamp is further in the future than this.",
    )
    message_timestamp_before_max_ms: int = setting(
        "log.message.timestamp.before.max.ms",
        LONG_MAX,
        Long(0),
        topic_name="message.timestamp.before.max.ms",
        scope=EVERYWHERE,
        doc="Refuses records whose timestamp is further in the past than this.",
    )
    message_timestamp_type: str = setting(
        "log.message.timestamp.type",
        "CreateTime",
        OneOf("CreateTime", "LogAppendTime"),
        topic_name="message.timestamp.type",
        scope=EVERYWHERE,
        doc="Decides whether records carry the time of their creation or of their arrival.",
    )
    min_cleanable_dirty_ratio: float = setting(
        "log.cleaner.min.cleanable.ratio",
        0.5,
        Double(0, 1),
        topic_name="min.cleanable.dirty.ratio",
        scope=EVERYWHERE,
        doc="Compacts a log once this part of it has not been compacted yet.",
    )
    min_compaction_lag_ms: int = setting(
        "log.cleaner.min.compaction.lag.ms",
        0,
        Long(0),
        topic_name="min.compaction.lag.ms",
        scope=EVERYWHERE,
        doc="Leaves records uncompacted for at least this long.",
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas",
        1,
        Int(1),
        topic_name="min.insync.replicas",
        scope=EVERYWHERE,
        importance="high",
        doc="Refuses writes with acks=all while fewer replicas than this are in sync.",
    )
    preallocate: bool = setting(
        "log.preallocate",
        False,
        Bool(),
        topic_name="preallocate",
        scope=EVERYWHERE,
        doc="Reserves the whole of a new segment's file on disk when it is made.",
    )
    retention_bytes: int = setting(
        "log.retention.bytes",
        -1,
        Long(-1),
        topic_name="retention.bytes",
        scope=EVERYWHERE,
        importance="high",
        doc="Deletes the oldest segments of a partition larger than this; -1 sets no limit.",
    )
    retention_ms: int = setting(
        "log.retention.ms",
        7 * DAY_MS,
        Long(-1),
        topic_name="retention.ms",
        scope=EVERYWHERE,
        importance="high",
        synonyms=(RETENTION_MINUTES, RETENTION_HOURS),
        doc="Deletes segments whose newest record is older than this; -1 keeps them for ever.",
    )
    segment_bytes: int = setting(
        "log.segment.bytes",
        1 * GiB,
        Int(1 * MiB),
        topic_name="segment.bytes",
        scope=EVERYWHERE,
        importance="high",
        doc="Rolls a new segment once the active one would grow beyond this size.",
    )
    segment_index_bytes: int = setting(
        "log.index.size.max.bytes",
        10 * MiB,
        Int(4),
        topic_name="segment.index.bytes",
        scope=EVERYWHERE,
        doc="Rolls a new segment once an index of the active one has this size.",
    )
    segment_jitter_ms: int = setting(
        "log.roll.jitter.ms",
        0,
        Long(0),
        topic_name="segment.jitter.ms",
        scope=EVERYWHERE,
        synonyms=(ROLL_JITTER_HOURS,),
        doc="Rolls segments up to this much earlier, at random, lest they all roll at once.",
    )
    segment_ms: int = setting(
        "log.roll.ms",
        7 * DAY_MS,
        Long(1),
        topic_name="segment.ms",
        scope=EVERYWHERE,
        importance="high",
        synonyms=(ROLL_HOURS,),
        doc="Rolls a new segment once the active one is this old, even if it is not full.",
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        False,
        Bool(),
        topic_name="unclean.leader.election.enable",
        scope=EVERYWHERE,
        importance="high",
        doc="Lets a replica that is not in sync lead when no other is left, and lose records.",
    )

    @classmethod
    def resolve(cls, defaults: "LogConfig", overrides: Mapping[str, str]) -> "LogConfig":
        """Applies a topic's overrides, by their topic names, to the broker's own values."""
        values = {}
        for name, text in overrides.items():
            row = topic_setting(name, text)
            values[row.attribute] = parse(row, name, text)
        return replace(defaults, **values) if values else defaults


TOPIC_SETTINGS: Final = {row.topic_name: row for row in settings_of(LogConfig) if row.topic_name}
"""Every setting that a topic may override, by its topic name."""


def topic_setting(name: str, text: str) -> Setting:
    """The setting that a topic override is about; ConfigError if there is none."""
    row = TOPIC_SETTINGS.get(name)
    if row is None:
        raise ConfigError(name, text, why_refused_for_topics(name) or "is not a topic setting")
    return row
