"""Pure: the settings that every client has, under Kafka's names, and how they are read.

Producers and consumers have tables of their own, built on this one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from ottla.base.errors import ConfigError
from ottla.base.units import INT_MAX, MINUTE_MS, SECOND_MS
from ottla.config.kinds import Int, Kind, Long, OptionalText
from ottla.config.listeners import Address
from ottla.config.setting import Setting, parse, setting, settings_of
from ottla.security import settings as security
from ottla.security.settings import SecuritySettings

S = TypeVar("S", bound="ClientSettings")

WITHOUT_EFFECT: Final = security.WITHOUT_EFFECT | frozenset(
    (
        "auto.include.jmx.reporter",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "interceptor.classes",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "receive.buffer.bytes",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
    )
)
"""What Kafka's own clients know and this one has no use for: accepted, so that their files can be read."""

_SERVER: Final = re.compile(
    r"(?:[A-Za-z0-9_.-]*://)?(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\[\]/:,\s]+)):([0-9]{1,5})"
)


class Servers(Kind[tuple[Address, ...]]):
    """host:port, once or several times with commas between."""

    __slots__ = ()
    code, word = 7, "list"

    def parse(self, text: str) -> tuple[Address, ...]:
        parts = [part.strip() for part in text.split(",")]
        return tuple(dict.fromkeys(self._one(part) for part in parts if part))

    def text(self, value: tuple[Address, ...]) -> str:
        return ",".join(map(str, value))

    def allowed(self) -> str:
        return "host:port, such as localhost:9092, with commas between several"

    def _one(self, text: str) -> Address:
        found = _SERVER.fullmatch(text)
        if found is None or not 0 < int(found[3]) < 65536:
            raise ValueError(f"must be {self.allowed()}")
        return Address(found[1] or found[2], int(found[3]))


@dataclass(frozen=True, kw_only=True)
class ClientSettings(SecuritySettings):
    """What clients of every sort have in common; `given` holds the names that were set."""

    bootstrap_servers: tuple[Address, ...] = setting(
        "bootstrap.servers",
        (),
        Servers(),
        doc="Asks these brokers, in turn, for the first view of the cluster.",
    )
    client_id: str | None = setting(
        "client.id",
        None,
        OptionalText(),
        doc="Names this client in the broker's logs, quotas and group listings.",
    )
    request_timeout_ms: int = setting(
        "request.timeout.ms",
        30 * SECOND_MS,
        Int(0),
        doc="Gives a broker this long to answer one request.",
    )
    default_api_timeout_ms: int = setting(
        "default.api.timeout.ms",
        MINUTE_MS,
        Int(0),
        doc="Lets an operation take this long in all, with its retries.",
    )
    retry_backoff_ms: int = setting(
        "retry.backoff.ms",
        100,
        Long(0),
        doc="Waits this long before the first retry of a failed request; each later wait is twice as long.",
    )
    retry_backoff_max_ms: int = setting(
        "retry.backoff.max.ms",
        SECOND_MS,
        Long(0),
        doc="Waits no longer than this between two retries of a request.",
    )
    reconnect_backoff_ms: int = setting(
        "reconnect.backoff.ms",
        50,
        Long(0),
        doc="Waits this long before a broker that could not be reached is tried again; doubles each time.",
    )
    reconnect_backoff_max_ms: int = setting(
        "reconnect.backoff.max.ms",
        SECOND_MS,
        Long(0),
        doc="Waits no longer than this between two attempts to reach a broker.",
    )
    socket_connection_setup_timeout_ms: int = setting(
        "socket.connection.setup.timeout.ms",
        10 * SECOND_MS,
        Long(1),
        doc="Gives a broker this long to accept a connection.",
    )
    metadata_max_age_ms: int = setting(
        "metadata.max.age.ms",
        5 * MINUTE_MS,
        Long(0),
        doc="Asks for the view of the cluster again after this time, even if nothing has failed.",
    )
    given: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, kw_only=True)
class AdminSettings(ClientSettings):
    """Those of an admin client."""

    retries: int = setting(
        "retries",
        INT_MAX,
        Int(0),
        doc="Repeats a failed request at most this often, within default.api.timeout.ms.",
    )


def client_settings(values: Mapping[str, Any]) -> ClientSettings:
    """The common settings from Kafka's names and values of any type."""
    return read_settings(ClientSettings, values)


def read_settings(table: type[S], values: Mapping[str, Any]) -> S:
    """The settings of one sort of client; ConfigError names what cannot be."""
    rows = rows_of(table)
    read: dict[str, Any] = {}
    for name, value in values.items():
        row = rows.get(name)
        if row is not None and value is not None:
            read[row.attribute] = parse(row, name, _text(value))
        elif row is None and name not in WITHOUT_EFFECT:
            raise _unknown(name, rows)
    made = table(**read, given=frozenset(values))
    security.check_security(made)
    return made


def named_settings(values: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping of settings and keyword arguments with _ for a dot, as one mapping."""
    return {**(values or {}), **{name.replace("_", "."): value for name, value in named.items()}}


def with_servers(settings: S) -> S:
    """The settings, if they name a broker to begin with: a client without one could only fail later."""
    if not settings.bootstrap_servers:
        raise ConfigError(
            "bootstrap.servers",
            None,
            "names no broker; set it to host:port, such as localhost:9092",
        )
    return settings


def is_known(table: type[ClientSettings], name: str) -> bool:
    """Whether `read_settings` takes a setting of this name, if only to do nothing with it."""
    return name in rows_of(table) or name in WITHOUT_EFFECT


def rows_of(table: type[ClientSettings]) -> dict[str, Setting]:
    """The rows of a table by Kafka's names."""
    return {row.name: row for row in settings_of(table)}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_text, value))
    return str(value)


def _unknown(name: str, rows: Mapping[str, Setting]) -> ConfigError:
    if name in security.REFUSED:
        return ConfigError(name, None, security.REFUSED[name])
    from difflib import get_close_matches

    near = get_close_matches(name, rows, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigError(name, None, f"there is no such client setting{hint}")
