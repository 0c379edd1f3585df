"""Pure: the options of the source, those of Spark's Kafka connector under their names."""

# ruff: noqa: RUF009 - a setting is a dataclass field, made anew for each attribute

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ottla.base.errors import ConfigError
from ottla.base.ids import TopicPartition
from ottla.base.units import INT_MAX, MINUTE_MS
from ottla.client.consumer_settings import READ_COMMITTED, ConsumerSettings
from ottla.client.settings import WITHOUT_EFFECT, ClientSettings, rows_of
from ottla.config.kinds import Bool, Int, Long, OneOf, OptionalText
from ottla.config.setting import setting
from ottla.pipeline.offsets import EARLIEST, EARLIEST_BOUND, LATEST, LATEST_BOUND, Bound
from ottla.pipeline.option_kinds import (
    Assignment,
    Duration,
    Offsets,
    Pattern,
    Time,
    Times,
    TopicNames,
)
from ottla.pipeline.options import ClientNames, PipelineOptions, read_options

_FETCHING: Final = frozenset(
    (
        "group.id",
        "isolation.level",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "max.partition.fetch.bytes",
    )
)
_USED: Final = frozenset(rows_of(ClientSettings)) | _FETCHING
_JAVA_ONLY: Final = frozenset(
    (
        "config.providers",
        "internal.leave.group.on.close",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "share.acknowledgement.mode",
    )
)
_REFUSED: Final = {
    "auto.offset.reset": "Spark keeps the offsets; say where to begin with startingOffsets",
    "enable.auto.commit": "offsets are committed with each batch, never in between",
    "interceptor.classes": "there is no Java here to run an interceptor",
    "key.deserializer": "keys are binary; use a function of Spark on the column, such as cast",
    "value.deserializer": "values are binary; use a function of Spark on the column, such as cast",
}
SOURCE_CLIENT: Final = ClientNames(
    used=_USED,
    without_meaning=(frozenset(rows_of(ConsumerSettings)) | WITHOUT_EFFECT | _JAVA_ONLY)
    - _USED
    - frozenset(_REFUSED),
    refused=_REFUSED,
)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(PipelineOptions):
    """What a reader may be told."""

    subscribe: tuple[str, ...] | None = setting(
        "subscribe", None, TopicNames(), doc="Reads these topics, with commas between."
    )
    subscribe_pattern: str | None = setting(
        "subscribePattern",
        None,
        Pattern(),
        doc="Reads the topics whose whole name this regular expression matches.",
    )
    assign: tuple[TopicPartition, ...] | None = setting(
        "assign",
        None,
        Assignment(),
        doc='Reads these partitions, as JSON of the form {"topic":[0,1]}.',
    )
    commit_offsets: bool = setting(
        "commitOffsets",
        True,
        Bool(),
        doc="Commits what a stream has processed to its consumer group, so that its lag can be seen.",
    )
    starting_offsets: Bound | None = setting(
        "startingOffsets",
        None,
        Offsets(),
        doc="Begins here: earliest (a batch's default), latest (a stream's), or JSON with an offset "
        "for each partition, -2 for its earliest, -1 for its latest. A stream with a checkpoint goes on there.",
    )
    starting_times: Bound | None = setting(
        "startingOffsetsByTimestamp",
        None,
        Times(),
        doc="Begins at the first record at or after a time in ms, as JSON with a time for each partition.",
    )
    starting_time: Bound | None = setting(
        "startingTimestamp",
        None,
        Time(),
        doc="Begins at the first record at or after this time in ms, in all partitions.",
    )
    starting_time_strategy: str = setting(
        "startingOffsetsByTimestampStrategy",
        "error",
        OneOf("error", "latest"),
        doc="Where no record is as late as the starting time: fails, or begins at the latest offset.",
    )
    ending_offsets: Bound | None = setting(
        "endingOffsets",
        None,
        Offsets(),
        doc="Ends a batch before these offsets: latest, or JSON with -1 for the latest of a partition.",
    )
    ending_times: Bound | None = setting(
        "endingOffsetsByTimestamp",
        None,
        Times(),
        doc="Ends a batch before the first record at or after a time in ms, as JSON.",
    )
    ending_time: Bound | None = setting(
        "endingTimestamp",
        None,
        Time(),
        doc="Ends a batch before the first record at or after this time in ms, in all partitions.",
    )
    fail_on_data_loss: bool = setting(
        "failOnDataLoss",
        True,
        Bool(),
        doc="Fails where records that were to be read are gone, or were never there; false passes over them.",
    )
    min_partitions: int | None = setting(
        "minPartitions",
        None,
        Int(1),
        doc="Splits large partitions until there are this many tasks.",
    )
    max_records_per_partition: int | None = setting(
        "maxRecordsPerPartition",
        None,
        Long(1),
        doc="Splits partitions so that no task covers more offsets than this.",
    )
    max_offsets_per_trigger: int | None = setting(
        "maxOffsetsPerTrigger",
        None,
        Long(1),
        doc="Takes at most this many offsets into a batch of a stream, spread by how much each partition has.",
    )
    min_offsets_per_trigger: int | None = setting(
        "minOffsetsPerTrigger",
        None,
        Long(1),
        doc="Waits until a stream's next batch has this many offsets, though not beyond maxTriggerDelay.",
    )
    max_trigger_delay_ms: int = setting(
        "maxTriggerDelay",
        15 * MINUTE_MS,
        Duration(),
        doc="Waits no longer than this for minOffsetsPerTrigger; a number and a unit, such as 15m.",
    )
    include_headers: bool = setting(
        "includeHeaders", False, Bool(), doc="Adds the column headers (and lets a sink write it)."
    )
    group_id_prefix: str | None = setting(
        "groupIdPrefix",
        None,
        OptionalText(),
        doc="Begins the name of the group that a stream's offsets are committed to; the rest is the same for "
        "the same brokers and subscription.",
    )
    poll_timeout_ms: int = setting(
        "kafkaConsumer.pollTimeoutMs",
        2 * MINUTE_MS,
        Long(1),
        doc="Lets a task wait this long for records that should be there, leader changes included.",
    )
    offset_retries: int | None = setting(
        "fetchOffset.numRetries",
        None,
        Int(0, INT_MAX),
        doc="Repeats a failed look-up of offsets at most this often.",
    )
    offset_retry_ms: int | None = setting(
        "fetchOffset.retryIntervalMs",
        None,
        Long(0),
        doc="Waits this long before a failed look-up of offsets is repeated.",
    )
    metadata_ttl_ms: int = setting(
        "partition.metadata.cache.ttl.ms",
        -1,
        Long(-1),
        doc="Looks for new partitions no more often than this; -1 looks with each batch of a stream.",
    )

    @property
    def starting(self) -> Bound | None:
        """Where to begin, by the one that counts of the three ways to say it."""
        return self.starting_time or self.starting_times or self.starting_offsets

    @property
    def ending(self) -> Bound | None:
        """Where to end, likewise."""
        return self.ending_time or self.ending_times or self.ending_offsets

    def names(self, partition: TopicPartition) -> bool:
        """Whether the subscription means this partition, be it there or not."""
        if self.assign is not None:
            return partition in self.assign
        if self.subscribe is not None:
            return partition.topic in self.subscribe
        return re.fullmatch(self.subscribe_pattern or "", partition.topic) is not None

    @property
    def read_committed(self) -> bool:
        """Whether what aborted transactions wrote, and what open ones write, stays out."""
        return self.client.get("isolation.level") == READ_COMMITTED


def read_source_options(options: Mapping[str, str]) -> SourceOptions:
    """The options of a read; ConfigError where they contradict each other or name nothing."""
    read = read_options(SourceOptions, SOURCE_CLIENT, options)
    _check_subscription(read)
    _check_client(read)
    lowest, highest = read.min_offsets_per_trigger, read.max_offsets_per_trigger
    if lowest is not None and highest is not None and lowest > highest:
        raise ConfigError(
            "minOffsetsPerTrigger",
            lowest,
            f"must not be above maxOffsetsPerTrigger, here {highest}",
        )
    return read


def for_batch(read: SourceOptions) -> SourceOptions:
    """The options with a batch's defaults; ConfigError for what only a stream can do."""
    starting = read.starting or EARLIEST_BOUND
    ending = read.ending or LATEST_BOUND
    _refuse_end("startingOffsets", starting, LATEST, "latest (-1): a batch would be empty")
    _refuse_end("endingOffsets", ending, EARLIEST, "earliest (-2): a batch would be empty")
    return _with_bounds(read, starting, ending)


def for_stream(read: SourceOptions) -> SourceOptions:
    """The options with a stream's defaults; ConfigError for what only a batch can do."""
    if read.ending is not None:
        raise ConfigError(
            "endingOffsets",
            None,
            "a stream has no end; use spark.read, or the trigger availableNow",
        )
    return _with_bounds(read, read.starting or LATEST_BOUND, None)


def _with_bounds(read: SourceOptions, starting: Bound, ending: Bound | None) -> SourceOptions:
    return replace(
        read,
        starting_time=None,
        starting_times=None,
        starting_offsets=starting,
        ending_time=None,
        ending_times=None,
        ending_offsets=ending,
    )


def _check_subscription(read: SourceOptions) -> None:
    ways = {
        "subscribe": read.subscribe,
        "subscribePattern": read.subscribe_pattern,
        "assign": read.assign,
    }
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise ConfigError(
            " | ".join(ways),
            None,
            f"exactly one of these options says what to read; there is {found}",
        )


def _check_client(read: SourceOptions) -> None:
    from ottla.client.settings import read_settings

    values: dict[str, Any] = dict(read.client)
    try:
        read_settings(ConsumerSettings, values)
    except ConfigError as error:
        raise ConfigError(f"kafka.{error.name}", error.value, error.why) from None


def _refuse_end(name: str, bound: Bound, end: int, why: str) -> None:
    if not bound.by_time and end in (bound.everywhere, *bound.each.values()):
        raise ConfigError(name, None, f"must not be {why}")
