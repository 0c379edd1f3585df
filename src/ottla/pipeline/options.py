"""Pure: how the options of `format("ottla")` are read; a table of them is a dataclass of settings.

Options have the names of Spark's Kafka connector and do not care for the case of letters. What begins
with `kafka.` is a setting of the client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from ottla.base.errors import ConfigError
from ottla.config.kinds import Bool
from ottla.config.setting import Setting, parse, setting, settings_of
from ottla.security.settings import is_about_security

T = TypeVar("T", bound="PipelineOptions")

CLIENT_PREFIX: Final = "kafka."
_OF_SPARK: Final = frozenset(("path", "checkpointlocation", "queryname", "outputmode"))
"""What Spark itself puts among the options."""


@dataclass(frozen=True, kw_only=True)
class PipelineOptions:
    """What every table has: the client's settings, and those that mean nothing here."""

    client: Mapping[str, str] = field(repr=False)  # passwords are among them
    without_meaning: tuple[str, ...] = ()
    publish_progress: bool | None = setting(
        "publishProgress",
        None,
        Bool(),
        doc="Publishes what a stream does in the topic __ottla_pipelines: unless set, on ottla; true, on Kafka too.",
    )

    @property
    def bootstrap_servers(self) -> str:
        """The brokers to ask first."""
        return self.client["bootstrap.servers"]


@dataclass(frozen=True)
class ClientNames:
    """Which settings of the client a table understands, passes over, and refuses with a reason."""

    used: frozenset[str]
    without_meaning: frozenset[str]
    refused: Mapping[str, str]


def read_options(table: type[T], clients: ClientNames, options: Mapping[str, str]) -> T:
    """The options of one table; ConfigError names what is unknown, missing or wrong."""
    rows = {row.name.lower(): row for row in settings_of(table)}
    values: dict[str, Any] = {}
    client: dict[str, str] = {}
    for name, text in options.items():
        lowered = name.lower()
        if lowered in rows:
            row = rows[lowered]
            values[row.attribute] = parse(row, row.name, text)
        elif lowered.startswith(CLIENT_PREFIX):
            client[lowered.removeprefix(CLIENT_PREFIX)] = text
        elif lowered not in _OF_SPARK:
            raise _unknown(name, rows, clients)
    used, ignored = _client_settings(client, clients)
    return table(**values, client=used, without_meaning=ignored)


def rows_of(table: type[PipelineOptions]) -> tuple[Setting, ...]:
    """All options of a table, for its documentation."""
    return settings_of(table)


def meaningless(names: tuple[str, ...]) -> str:
    """The one warning about settings of Java's client."""
    listed = ", ".join(CLIENT_PREFIX + name for name in names)
    return f"without meaning for format('ottla'), and passed over: {listed}"


def _client_settings(
    given: Mapping[str, str], clients: ClientNames
) -> tuple[dict[str, str], tuple[str, ...]]:
    used: dict[str, str] = {}
    ignored: list[str] = []
    for name, text in given.items():
        if name in clients.refused:
            raise ConfigError(CLIENT_PREFIX + name, text, clients.refused[name])
        if name in clients.without_meaning:
            ignored.append(name)
        elif name in clients.used or is_about_security(name):
            used[name] = text
        else:
            raise _unknown_setting(name, clients)
    if not used.get("bootstrap.servers", "").strip():
        raise ConfigError(
            "kafka.bootstrap.servers", None, "is missing; name a broker, such as localhost:9092"
        )
    return used, tuple(sorted(ignored))


def _unknown(name: str, rows: Mapping[str, Setting], clients: ClientNames) -> ConfigError:
    known = [*rows, *(CLIENT_PREFIX + each for each in clients.used | clients.without_meaning)]
    near = get_close_matches(name.lower(), known, n=1)
    if not near:
        return ConfigError(name, None, "there is no such option")
    meant = rows[near[0]].name if near[0] in rows else near[0]
    return ConfigError(name, None, f"there is no such option; did you mean {meant}?")


def _unknown_setting(name: str, clients: ClientNames) -> ConfigError:
    near = get_close_matches(name, clients.used | clients.without_meaning, n=1)
    hint = f"; did you mean {CLIENT_PREFIX}{near[0]}?" if near else ""
    return ConfigError(CLIENT_PREFIX + name, None, f"there is no such client setting{hint}")
