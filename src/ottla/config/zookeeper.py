"""Pure: ZookeeperConfig, where a cluster keeps its metadata, and how its brokers get their ids."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from ottla.config.kinds import Bool, Int, Kind
from ottla.config.setting import setting

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]/:,\s]+)(:([0-9]{1,5}))?")
_CHROOT: Final = re.compile(r"(/[^/\s]+)*")
_DEFAULT_PORT: Final = 2181
_PORTS: Final = 65536


class ZookeeperConnect(NamedTuple):
    """The servers of an ensemble, and the node below which the cluster keeps everything."""

    hosts: tuple[str, ...]
    chroot: str = ""

    def __str__(self) -> str:
        return ",".join(self.hosts) + self.chroot


class OptionalConnect(Kind[ZookeeperConnect | None]):
    """host:port, or several with commas between, and perhaps a path; or nothing."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> ZookeeperConnect | None:
        stripped = text.strip()
        if not stripped:
            return None
        servers, slash, chroot = stripped.partition("/")
        chroot = (slash + chroot).rstrip("/")
        names = {"..", "."} & set(chroot.split("/"))
        if names or not _CHROOT.fullmatch(chroot):
            raise ValueError(f"must be {self.allowed()}")
        return ZookeeperConnect(tuple(map(self._host, servers.split(","))), chroot)

    def text(self, value: ZookeeperConnect | None) -> str:
        return "" if value is None else str(value)

    def allowed(self) -> str:
        return "host:port, several of them with commas between, then perhaps a /path; or empty"

    def _host(self, text: str) -> str:
        found = _HOST.fullmatch(text.strip())
        port = int(found[3] or _DEFAULT_PORT) if found else _PORTS
        if found is None or not 0 < port < _PORTS:
            raise ValueError(f"must be {self.allowed()}")
        return f"{found[1]}:{port}"


class Credential(NamedTuple):
    """Who a broker is to ZooKeeper: a scheme of its, such as digest, and what that scheme takes."""

    scheme: str
    secret: str


class OptionalCredential(Kind[Credential | None]):
    """scheme:credential, or nothing."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> Credential | None:
        if not text.strip():
            return None
        scheme, _, secret = text.strip().partition(":")
        if not (scheme and secret):
            raise ValueError(f"must be {self.allowed()}")
        return Credential(scheme, secret)

    def text(self, value: Credential | None) -> str:
        return "" if value is None else ":".join(value)

    def allowed(self) -> str:
        return "a scheme and its credential, such as digest:user:password; or empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperConfig:
    """The ensemble of a cluster; without one the broker is alone and keeps its own metadata."""

    connect: ZookeeperConnect | None = setting(  # noqa: RUF009 - it declares a field
        "zookeeper.connect",
        None,
        OptionalConnect(),
        importance="high",
        doc="Lists the ZooKeeper servers of a cluster, with its chroot; empty runs a single broker.",
    )
    session_timeout_ms: int = setting(
        "zookeeper.session.timeout.ms",
        # As long as Kafka 4 lets a broker be silent (broker.session.timeout.ms); Kafka 3 had 18 s here.
        9_000,
        Int(1_000),
        importance="high",
        doc="Lets ZooKeeper take a broker that is silent for this long for dead.",
    )
    connection_timeout_ms: int | None = setting(
        "zookeeper.connection.timeout.ms",
        None,
        Int(1),
        importance="high",
        doc="Gives up a start if ZooKeeper is not reached in this time; by default the session's.",
    )
    set_acl: bool = setting(
        "zookeeper.set.acl",
        False,
        Bool(),
        importance="high",
        doc="Lets only those with this broker's credentials change the nodes that it makes.",
    )
    auth: Credential | None = setting(  # noqa: RUF009 - it declares a field
        "ottla.zookeeper.auth",
        None,
        OptionalCredential(),
        sensitive=True,
        doc="Shows ZooKeeper a credential, such as digest:user:password.",
    )
    broker_id_generation_enable: bool = setting(
        "broker.id.generation.enable",
        True,
        Bool(),
        doc="Gives a broker of a cluster an id of its own where neither node.id nor broker.id does.",
    )
    reserved_broker_max_id: int = setting(
        "reserved.broker.max.id",
        1_000,
        Int(0),
        doc="Begins generated ids above this one.",
    )
