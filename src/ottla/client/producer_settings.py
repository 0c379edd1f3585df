"""Pure: the settings of a producer, under Kafka's names and with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ottla.base.errors import ConfigError
from ottla.base.units import MINUTE_MS, MiB
from ottla.client.settings import ClientSettings
from ottla.config.kinds import Bool, Double, Int, Kind, Long, OneOf, OptionalText
from ottla.config.setting import setting

ALL_IN_SYNC: Final = -1
MOST_IN_FLIGHT_WITH_IDEMPOTENCE: Final = 5
"""A broker remembers the last five batches of a producer, and tells repetitions of no older ones."""


class Acks(Kind[int]):
    """all, -1, 0 or 1."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> int:
        known = {"all": -1, "-1": -1, "0": 0, "1": 1}
        if text.strip() not in known:
            raise ValueError(f"must be {self.allowed()}")
        return known[text.strip()]

    def text(self, value: int) -> str:
        return "all" if value == ALL_IN_SYNC else str(value)

    def allowed(self) -> str:
        return "all (or -1), 1 or 0"


@dataclass(frozen=True, kw_only=True)
class ProducerSettings(ClientSettings):
    """What a producer may be told."""

    acks: int = setting(
        "acks",
        ALL_IN_SYNC,
        Acks(),
        doc="Counts a record as written once all in-sync replicas (all) or the leader (1) have it, or once sent (0).",
    )
    linger_ms: float = setting(
        "linger.ms",
        5,
        Double(0),
        doc="Waits this long for more records before a batch that is not full is sent.",
    )
    batch_size: int = setting(
        "batch.size",
        16384,
        Int(0),
        doc="Collects records for a partition into batches of up to this many bytes, before compression.",
    )
    buffer_memory: int = setting(
        "buffer.memory",
        32 * MiB,
        Long(0),
        doc="Holds at most this many bytes of records that are not yet written; sending waits beyond it.",
    )
    max_block_ms: int = setting(
        "max.block.ms",
        MINUTE_MS,
        Long(0),
        doc="Lets sending wait this long for metadata of the topic, or for room in buffer.memory.",
    )
    max_request_size: int = setting(
        "max.request.size",
        MiB,
        Int(0),
        doc="Refuses a record, and ends a request, that would be larger than this many bytes.",
    )
    max_in_flight_requests_per_connection: int = setting(
        "max.in.flight.requests.per.connection",
        5,
        Int(1),
        doc="Sends at most this many requests to a broker before it has answered the first.",
    )
    retries: int = setting(
        "retries",
        2**31 - 1,
        Int(0),
        doc="Sends a batch again at most this often, within delivery.timeout.ms.",
    )
    delivery_timeout_ms: int = setting(
        "delivery.timeout.ms",
        2 * MINUTE_MS,
        Int(0),
        doc="Gives a record this long in all to be written, from the moment it was handed over.",
    )
    compression_type: str = setting(
        "compression.type",
        "none",
        OneOf("none", "gzip", "snappy", "lz4", "zstd"),
        doc="Compresses batches with this codec.",
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        -1,
        Int(-1, 9),
        doc="Makes gzip try this hard, from 1 to 9; -1 is its own default.",
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        9,
        Int(1, 17),
        doc="Makes lz4 try this hard; 9 is Kafka's word for the fast compressor.",
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        3,
        Int(-131072, 22),
        doc="Makes zstd try this hard; negative levels are faster.",
    )
    enable_idempotence: bool = setting(
        "enable.idempotence",
        True,
        Bool(),
        doc="Numbers batches, so that a broker writes none twice and none out of order.",
    )
    transactional_id: str | None = setting(
        "transactional.id",
        None,
        OptionalText(),
        doc="Names the producer's transactions; a newer producer of the same id fences off older ones.",
    )
    transaction_timeout_ms: int = setting(
        "transaction.timeout.ms",
        MINUTE_MS,
        Int(0),
        doc="Lets the coordinator abort a transaction that is open for longer than this.",
    )
    partitioner_ignore_keys: bool = setting(
        "partitioner.ignore.keys",
        False,
        Bool(),
        doc="Spreads records with a key over partitions as if they had none.",
    )
    partitioner_adaptive_partitioning_enable: bool = setting(
        "partitioner.adaptive.partitioning.enable",
        True,
        Bool(),
        doc="Gives records without a key less often to partitions whose broker is slow.",
    )

    @property
    def compression_level(self) -> int | None:
        """The level of the chosen codec; None where it has none."""
        level: int | None = getattr(self, f"compression_{self.compression_type}_level", None)
        return level


def check_producer(settings: ProducerSettings) -> ProducerSettings:
    """What contradicts itself is refused, or where only a default does, the default gives way."""
    from dataclasses import replace

    asked = "enable.idempotence" in settings.given or settings.transactional_id is not None
    why = _no_idempotence(settings)
    if settings.transactional_id is not None and not settings.enable_idempotence:
        raise ConfigError("enable.idempotence", "false", "transactional.id needs it to be true")
    if settings.enable_idempotence and why:
        if asked:
            raise ConfigError("enable.idempotence", "true", why)
        settings = replace(settings, enable_idempotence=False)
    least = settings.linger_ms + settings.request_timeout_ms
    if settings.delivery_timeout_ms < least:
        if "delivery.timeout.ms" in settings.given:
            raise ConfigError(
                "delivery.timeout.ms",
                settings.delivery_timeout_ms,
                f"must be at least linger.ms + request.timeout.ms, here {least:g}",
            )
        settings = replace(settings, delivery_timeout_ms=int(least))
    return settings


def _no_idempotence(settings: ProducerSettings) -> str | None:
    if settings.acks != ALL_IN_SYNC:
        return "needs acks=all"
    if settings.retries == 0:
        return "needs retries above 0"
    if settings.max_in_flight_requests_per_connection > MOST_IN_FLIGHT_WITH_IDEMPOTENCE:
        most = MOST_IN_FLIGHT_WITH_IDEMPOTENCE
        return f"needs max.in.flight.requests.per.connection of at most {most}"
    return None
