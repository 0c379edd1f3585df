"""Pure: the settings of a consumer, under Kafka's names and with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ottla.base.errors import ConfigError
from ottla.base.units import MINUTE_MS, SECOND_MS, MiB
from ottla.client.settings import ClientSettings
from ottla.config.kinds import Bool, Int, Kind, ListOf, OneOf, OptionalText
from ottla.config.setting import setting

LATEST: Final = -1
EARLIEST: Final = -2
"""What ListOffsets takes for the ends of a log."""
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
READ_COMMITTED: Final = "read_committed"

_BY_DURATION: Final = "by_duration:"
_JAVA_PACKAGE: Final = "org.apache.kafka.clients.consumer."
_JAVA_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


class Reset(Kind[str]):
    """earliest, latest, none, or by_duration: and an ISO-8601 duration."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> str:
        stripped = text.strip()
        if stripped.startswith(_BY_DURATION):
            duration_ms(stripped)
        elif stripped not in ("earliest", "latest", "none"):
            raise ValueError(f"must be {self.allowed()}")
        return stripped

    def allowed(self) -> str:
        return "earliest, latest, none, or by_duration: with a duration such as PT1H30M"


class Assignors(ListOf):
    """Names of assignors; Kafka's class names are understood, too."""

    __slots__ = ()

    def parse(self, text: str) -> tuple[str, ...]:
        names = [part.strip().removeprefix(_JAVA_PACKAGE) for part in text.split(",")]
        return super().parse(",".join(_JAVA_ASSIGNORS.get(name, name) for name in names))


@dataclass(frozen=True, kw_only=True)
class ConsumerSettings(ClientSettings):
    """What a consumer may be told."""

    group_id: str | None = setting(
        "group.id",
        None,
        OptionalText(),
        doc="Shares the partitions of its topics with the other members of this group, and keeps its offsets there.",
    )
    group_instance_id: str | None = setting(
        "group.instance.id",
        None,
        OptionalText(),
        doc="Keeps the member's partitions for it over a restart (static membership).",
    )
    group_protocol: str = setting(
        "group.protocol",
        CLASSIC,
        OneOf(CLASSIC, CONSUMER),
        doc="Lets members assign partitions among themselves (classic), or the broker do it (consumer, KIP-848).",
    )
    group_remote_assignor: str | None = setting(
        "group.remote.assignor",
        None,
        OptionalText(),
        doc="Asks the broker to assign with this assignor, with group.protocol=consumer.",
    )
    partition_assignment_strategy: tuple[str, ...] = setting(
        "partition.assignment.strategy",
        ("range", "cooperative-sticky"),
        Assignors(*_JAVA_ASSIGNORS.values(), empty=False),
        doc="Offers these assignors to the group, the preferred one first, with group.protocol=classic.",
    )
    session_timeout_ms: int = setting(
        "session.timeout.ms",
        45 * SECOND_MS,
        Int(0),
        doc="Lets the coordinator remove a member that sent no heartbeat for this long.",
    )
    heartbeat_interval_ms: int = setting(
        "heartbeat.interval.ms",
        3 * SECOND_MS,
        Int(1),
        doc="Sends a heartbeat to the coordinator this often, with group.protocol=classic.",
    )
    max_poll_interval_ms: int = setting(
        "max.poll.interval.ms",
        5 * MINUTE_MS,
        Int(1),
        doc="Leaves the group when poll was not called for this long.",
    )
    max_poll_records: int = setting(
        "max.poll.records",
        500,
        Int(1),
        doc="Returns at most this many records from one poll.",
    )
    auto_offset_reset: str = setting(
        "auto.offset.reset",
        "latest",
        Reset(),
        doc="Says where to begin in a partition without a committed offset, or whose offset is gone.",
    )
    enable_auto_commit: bool = setting(
        "enable.auto.commit",
        True,
        Bool(),
        doc="Commits what earlier polls returned, in later polls and on closing.",
    )
    auto_commit_interval_ms: int = setting(
        "auto.commit.interval.ms",
        5 * SECOND_MS,
        Int(0),
        doc="Commits by itself this often.",
    )
    isolation_level: str = setting(
        "isolation.level",
        "read_uncommitted",
        OneOf("read_uncommitted", READ_COMMITTED),
        doc="Returns records of transactions at once (read_uncommitted), or after they have committed.",
    )
    fetch_min_bytes: int = setting(
        "fetch.min.bytes",
        1,
        Int(0),
        doc="Lets the broker wait, up to fetch.max.wait.ms, until it has this many bytes.",
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes",
        50 * MiB,
        Int(0),
        doc="Fetches at most this many bytes from a broker at once, though always a whole batch.",
    )
    fetch_max_wait_ms: int = setting(
        "fetch.max.wait.ms",
        500,
        Int(0),
        doc="Lets the broker wait this long for fetch.min.bytes.",
    )
    max_partition_fetch_bytes: int = setting(
        "max.partition.fetch.bytes",
        MiB,
        Int(0),
        doc="Fetches at most this many bytes of a partition at once, though always a whole batch.",
    )
    check_crcs: bool = setting(
        "check.crcs",
        True,
        Bool(),
        doc="Verifies the checksum of each batch.",
    )
    client_rack: str = setting(
        "client.rack",
        "",
        OptionalText(),
        doc="Reads from a replica in this rack, where the broker offers one.",
    )
    allow_auto_create_topics: bool = setting(
        "allow.auto.create.topics",
        True,
        Bool(),
        doc="Lets the broker create a topic that is subscribed to and does not exist.",
    )
    exclude_internal_topics: bool = setting(
        "exclude.internal.topics",
        True,
        Bool(),
        doc="Keeps internal topics out of a subscription by pattern.",
    )


def check_consumer(settings: ConsumerSettings) -> ConsumerSettings:
    """What contradicts itself is refused, or where only a default does, the default gives way."""
    from dataclasses import replace

    if settings.group_id is None:
        if "enable.auto.commit" in settings.given and settings.enable_auto_commit:
            raise ConfigError("enable.auto.commit", "true", "needs a group.id to commit to")
        settings = replace(settings, enable_auto_commit=False)
    if settings.group_protocol == CLASSIC:
        if settings.heartbeat_interval_ms >= settings.session_timeout_ms:
            raise ConfigError(
                "heartbeat.interval.ms",
                settings.heartbeat_interval_ms,
                f"must be below session.timeout.ms, here {settings.session_timeout_ms}",
            )
        return settings
    for name in ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"):
        if name in settings.given:
            raise ConfigError(name, None, "is the broker's to decide with group.protocol=consumer")
    return settings


def reset_timestamp(reset: str, now_ms: int) -> int | None:
    """The timestamp to look a position up by, or the protocol's number for an end; None for none."""
    if reset.startswith(_BY_DURATION):
        return now_ms - duration_ms(reset)
    return {"earliest": EARLIEST, "latest": LATEST}.get(reset)


def duration_ms(reset: str) -> int:
    """The milliseconds of a by_duration: reset."""
    import re

    number = r"(?:(\d+){})?"
    pattern = "P" + number.format("D") + "(?:T" + number.format("H") + number.format("M")
    found = re.fullmatch(pattern + r"(?:(\d+(?:\.\d+)?)S)?)?", reset.removeprefix(_BY_DURATION))
    if found is None or not any(found.groups()):
        raise ValueError("must be by_duration: and a duration such as PT1H30M or P1D")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
