"""Pure: the settings of `ottla http`; their names begin with `ottla.http.`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ottla.base.errors import ConfigError
from ottla.base.units import MINUTE_MS, SECOND_MS, MiB
from ottla.client.settings import Servers
from ottla.config.kinds import Bool, Int, ListOf, Long, OneOf, OptionalText
from ottla.config.listeners import Address
from ottla.config.setting import Setting, parse, setting, settings_of

PREFIX: Final = "ottla.http."
CLUSTER_PREFIX: Final = "ottla.http.cluster."
DEFAULT_LABEL: Final = "default"
COLOURS: Final = ("blue", "green", "amber", "red", "violet", "grey")
_LABEL: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))


class Listeners(Servers):
    """host:port, several with commas between; port 0 takes a free one."""

    __slots__ = ()

    def _one(self, text: str) -> Address:
        host, _, port = text.rpartition(":")
        if port == "0" and host:
            return Address(host.strip("[]"), 0)
        return super()._one(text)

    def allowed(self) -> str:
        return "host:port, such as localhost:8082, with commas between several"


class Cluster(NamedTuple):
    """A cluster that pages and requests may be about: its label, its colour, and how to reach it."""

    label: str
    colour: str
    client: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """What the service may be told; `clusters` holds the first one and those of `ottla.http.clusters`."""

    listeners: tuple[Address, ...] = setting(
        "ottla.http.listeners",
        (Address("localhost", 8082),),
        Listeners(),
        doc="Serves REST and the console at these addresses.",
    )
    enabled: bool = setting(
        "ottla.http.enabled",
        True,
        Bool(),
        doc="Lets `ottla up` start REST and the console beside the broker.",
    )
    read_only: bool = setting(
        "ottla.http.read.only",
        False,
        Bool(),
        doc="Refuses every request that changes something.",
    )
    anonymous: bool = setting(
        "ottla.http.anonymous",
        False,
        Bool(),
        doc="Serves everybody who reaches an address that is not loopback, where the cluster asks for no login.",
    )
    login: str = setting(
        "ottla.http.login",
        "caller",
        OneOf("caller", "service"),
        doc="Acts with the name and password of whoever calls, where the cluster asks for a login (caller), or for "
        "everybody with those of this service (service).",
    )
    behind_proxy: bool = setting(
        "ottla.http.behind.proxy",
        False,
        Bool(),
        doc="Believes X-Forwarded-For and X-Forwarded-Proto: a proxy in front of this service sets them.",
    )
    cluster_names: tuple[str, ...] = setting(
        "ottla.http.clusters",
        (),
        ListOf(),
        doc="Labels of further clusters; ottla.http.cluster.LABEL.* are their client settings, with colour and name.",
    )
    label: str = setting(
        "ottla.http.label",
        DEFAULT_LABEL,
        OptionalText(),
        doc="Names the cluster of --bootstrap-server on pages and in ?cluster=.",
    )
    colour: str = setting(
        "ottla.http.colour",
        COLOURS[0],
        OneOf(*COLOURS),
        doc="Marks the pages of that cluster, so that nobody mistakes production for another one.",
    )
    allowed_hosts: tuple[str, ...] = setting(
        "ottla.http.allowed.hosts",
        (),
        ListOf(),
        doc="Names in the Host header that are accepted besides localhost, this machine's name and addresses.",
    )
    allowed_origins: tuple[str, ...] = setting(
        "ottla.http.allowed.origins",
        (),
        ListOf(),
        doc="Origins, such as https://tools.example, whose pages may call this service (CORS).",
    )
    max_request_bytes: int = setting(
        "ottla.http.max.request.bytes",
        32 * MiB,
        Int(1024),
        doc="Refuses a body longer than this; streams of records are limited by record instead.",
    )
    request_timeout_ms: int = setting(
        "ottla.http.request.timeout.ms",
        MINUTE_MS,
        Int(100),
        doc="Gives a request this long to arrive, and again to be answered; streams give each part as long.",
    )
    max_streams: int = setting(
        "ottla.http.max.streams",
        200,
        Int(1),
        doc="Answers at most this many live streams at once.",
    )
    max_connections: int = setting(
        "ottla.http.max.connections",
        2000,
        Int(1),
        doc="Serves at most this many connections at once.",
    )
    max_records: int = setting(
        "ottla.http.max.records",
        10_000,
        Int(1),
        doc="Returns at most this many records in one JSON document; the other formats are streams.",
    )
    max_consumers: int = setting(
        "ottla.http.max.consumers",
        200,
        Int(0),
        doc="Keeps at most this many v2 consumer instances.",
    )
    consumer_instance_timeout_ms: int = setting(
        "ottla.http.consumer.instance.timeout.ms",
        5 * MINUTE_MS,
        Int(1000),
        doc="Closes a v2 consumer instance that nobody has used for this long.",
    )
    consumer_request_timeout_ms: int = setting(
        "ottla.http.consumer.request.timeout.ms",
        SECOND_MS,
        Int(0, 2_147_483),
        doc="Lets a v2 consumer wait this long for records, unless it says otherwise.",
    )
    consumer_max_bytes: int = setting(
        "ottla.http.consumer.max.bytes",
        64 * MiB,
        Long(1),
        doc="Returns at most this many bytes of records from one v2 read, unless the request says less.",
    )
    sample_interval_ms: int = setting(
        "ottla.http.sample.interval.ms",
        5 * SECOND_MS,
        Int(500),
        doc="Looks this often at offsets and sizes, for rates and the last hour.",
    )
    schema_registry_url: str | None = setting(
        "schema.registry.url",
        None,
        OptionalText(),
        doc="Where schemas are kept; without it Avro, Protobuf and JSON Schema are refused.",
    )
    log_level: str = setting(
        "ottla.http.log.level",
        "info",
        OneOf("debug", "info", "warning", "error"),
        doc="Leaves out of the service's own log whatever is below this level.",
    )
    log_format: str = setting(
        "ottla.http.log.format",
        "console",
        OneOf("console", "json"),
        doc="Prints the service's own log for people or for machines.",
    )
    clusters: tuple[Cluster, ...] = field(default=())

    @property
    def is_loopback(self) -> bool:
        """Whether nobody on another machine can reach it."""
        return all(each.host in _LOOPBACK for each in self.listeners)


ROWS: Final[Mapping[str, Setting]] = {row.name: row for row in settings_of(HttpSettings)}


def http_settings(
    properties: Mapping[str, str], client: Mapping[str, str], listen: str | None = None
) -> HttpSettings:
    """The settings of the service; what does not begin with `ottla.http.` is the first cluster's client's."""
    given: dict[str, Any] = {}
    first = {}
    for name, text in properties.items():
        if name in ROWS:
            given[ROWS[name].attribute] = parse(ROWS[name], name, text)
        elif name.startswith(CLUSTER_PREFIX):
            continue
        elif name.startswith(PREFIX):
            raise _unknown(name)
        else:
            first[name] = text
    if listen is not None:
        given["listeners"] = parse(ROWS["ottla.http.listeners"], "--listen", listen)
    made = HttpSettings(**given)
    clusters = [Cluster(made.label or DEFAULT_LABEL, made.colour, {**first, **client})]
    clusters += [_cluster(label, properties) for label in made.cluster_names]
    if len({each.label for each in clusters}) < len(clusters):
        raise ConfigError("ottla.http.clusters", None, "names a cluster twice")
    return HttpSettings(**given, clusters=tuple(clusters))


def _cluster(label: str, properties: Mapping[str, str]) -> Cluster:
    if not _LABEL.fullmatch(label):
        raise ConfigError("ottla.http.clusters", label, "a label is letters, digits, - and _")
    prefix = f"{CLUSTER_PREFIX}{label}."
    client = {
        name.removeprefix(prefix): text
        for name, text in properties.items()
        if name.startswith(prefix)
    }
    colour = client.pop("colour", COLOURS[0])
    if colour not in COLOURS:
        raise ConfigError(f"{prefix}colour", colour, f"must be one of {', '.join(COLOURS)}")
    if "bootstrap.servers" not in client:
        raise ConfigError(f"{prefix}bootstrap.servers", None, "is missing: where is that cluster?")
    return Cluster(label, colour, client)


def _unknown(name: str) -> ConfigError:
    from difflib import get_close_matches

    near = get_close_matches(name, ROWS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigError(name, None, f"there is no such setting of ottla http{hint}")
