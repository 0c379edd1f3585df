"""Pure: the options of the sink, and the producer's settings that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ottla.base.errors import ConfigError
from ottla.base.units import DAY_MS, MINUTE_MS, SECOND_MS
from ottla.client.producer_settings import (
    ALL_IN_SYNC,
    MOST_IN_FLIGHT_WITH_IDEMPOTENCE,
    ProducerSettings,
    check_producer,
)
from ottla.client.settings import WITHOUT_EFFECT, read_settings, rows_of
from ottla.config.kinds import Bool, Int, Long, OneOf, OptionalText
from ottla.config.setting import setting
from ottla.pipeline.option_kinds import Duration
from ottla.pipeline.options import ClientNames, PipelineOptions, read_options

EXACTLY_ONCE: Final = "exactly_once"
AT_LEAST_ONCE: Final = "at_least_once"
DEFAULT_BATCH_BYTES: Final = 1_000_000
"""Tasks have many rows at hand, and brokers take batches of up to message.max.bytes=1048588 by default."""

_LONGEST_SINK_ID: Final = 249
_JAVA_ONLY: Final = frozenset(
    (
        "config.providers",
        "linger.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "transaction.timeout.ms",
        "transaction.two.phase.commit.enable",
    )
)
_REFUSED: Final = {
    "key.serializer": "keys are string or binary; use a function of Spark on the column, such as cast",
    "value.serializer": "values are string or binary; use a function of Spark on the column, such as cast",
    "transactional.id": "the coordinator names the transactions of a sink; name the sink with sinkId",
    "interceptor.classes": "there is no Java here to run an interceptor",
}
SINK_CLIENT: Final = ClientNames(
    used=frozenset(rows_of(ProducerSettings)) - _JAVA_ONLY - frozenset(_REFUSED),
    without_meaning=(WITHOUT_EFFECT | _JAVA_ONLY) - frozenset(_REFUSED),
    refused=_REFUSED,
)


@dataclass(frozen=True, kw_only=True)
class SinkOptions(PipelineOptions):
    """What a writer may be told."""

    topic: str | None = setting(
        "topic",
        None,
        OptionalText(),
        doc="Writes all rows to this topic; without it, the column topic says where each row goes.",
    )
    delivery: str | None = setting(
        "delivery",
        None,
        OneOf(EXACTLY_ONCE, AT_LEAST_ONCE),
        doc="Promises that each row is written exactly_once (the default on ottla) or at_least_once (on Kafka).",
    )
    sink_id: str | None = setting(
        "sinkId",
        None,
        OptionalText(),
        doc="Names what a stream has written across its runs; the query's id unless set.",
    )
    slots: int | None = setting(
        "slots",
        None,
        Int(1, 10_000),
        doc="Promises that every batch comes in this many tasks, a row always in the same one, as after "
        "repartition(slots, key): what exactly_once needs on Kafka.",
    )
    timeout_ms: int = setting(
        "sinkTimeout",
        15 * MINUTE_MS,
        Duration(),
        doc="Aborts a batch of which nothing was heard for this long; a number and a unit, such as 15m.",
    )
    txn_app_id: str | None = setting(
        "txnAppId",
        None,
        OptionalText(),
        doc="Makes a batch write one that can be repeated: of each txnVersion only the first counts.",
    )
    txn_version: int | None = setting(
        "txnVersion",
        None,
        Long(0),
        doc="Numbers the writes of a txnAppId; one that is not above the last committed is skipped.",
    )
    include_headers: bool = setting(
        "includeHeaders",
        False,
        Bool(),
        doc="Is accepted for the connector's sake: the column headers is written wherever there is one.",
    )
    include_timestamp: bool = setting(
        "includeTimestamp",
        False,
        Bool(),
        doc="Writes the column timestamp as the records' time; without it that is the time of writing.",
    )
    checkpoint_location: str | None = setting(
        "checkpointLocation",
        None,
        OptionalText(),
        doc="Is Spark's own: where a stream keeps its offsets, by which a repeated batch is known.",
    )
    query_name: str | None = setting(
        "queryName",
        None,
        OptionalText(),
        doc="Is Spark's own: with it, a query finds its checkpoint in spark.sql.streaming.checkpointLocation.",
    )

    def producer(self) -> ProducerSettings:
        """The producer's settings, with defaults that suit tasks."""
        given: dict[str, str] = {"batch.size": str(DEFAULT_BATCH_BYTES), **self.client}
        try:
            return check_producer(read_settings(ProducerSettings, given))
        except ConfigError as error:
            raise ConfigError(f"kafka.{error.name}", error.value, error.why) from None


def read_sink_options(options: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """The options of a write; ConfigError where they contradict each other."""
    read = read_options(SinkOptions, SINK_CLIENT, options)
    _check_identity(read, streaming)
    if not SECOND_MS <= read.timeout_ms <= DAY_MS:
        raise ConfigError("sinkTimeout", f"{read.timeout_ms}ms", "must be from 1s to 1d")
    read.producer()
    return read


def exactly_once(settings: ProducerSettings) -> ProducerSettings:
    """The settings as exactly once needs them; ConfigError for a contradiction."""
    if settings.acks != ALL_IN_SYNC:
        if "acks" in settings.given:
            raise ConfigError(
                "kafka.acks", settings.acks, "exactly once needs all; or set delivery=at_least_once"
            )
        settings = replace(settings, acks=ALL_IN_SYNC)
    in_flight = min(settings.max_in_flight_requests_per_connection, MOST_IN_FLIGHT_WITH_IDEMPOTENCE)
    return replace(
        settings, enable_idempotence=True, max_in_flight_requests_per_connection=in_flight
    )


def _check_identity(read: SinkOptions, streaming: bool) -> None:
    for name, value in (("sinkId", read.sink_id), ("txnAppId", read.txn_app_id)):
        if value is not None and len(value) > _LONGEST_SINK_ID:
            raise ConfigError(name, None, f"must not be longer than {_LONGEST_SINK_ID} characters")
    if (read.txn_app_id is None) != (read.txn_version is None):
        raise ConfigError("txnAppId", read.txn_app_id, "goes together with txnVersion")
    if streaming and read.txn_app_id is not None:
        raise ConfigError("txnAppId", read.txn_app_id, "is for batch writes; a stream has sinkId")
    if not streaming and read.sink_id is not None:
        raise ConfigError(
            "sinkId", read.sink_id, "is for streams; a batch write has txnAppId and txnVersion"
        )
