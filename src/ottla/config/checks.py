"""Pure: what must hold between settings, after each is right by itself."""

from dataclasses import replace
from typing import Final

from ottla.base.errors import ConfigError
from ottla.config.groups import GroupsConfig
from ottla.config.listeners import Listener
from ottla.config.log import LogConfig
from ottla.config.table import Settings

_FEWEST_OF_A_CLUSTER: Final = 2


def checked(settings: Settings) -> Settings:
    """Leaves out what is meant for Kafka's controllers, and refuses what contradicts itself."""
    _check_roles(settings)
    _check_ids(settings)
    check_log(settings.log)
    check_limits(settings)
    check_groups(settings.groups)
    _check_zookeeper(settings)
    _check_quorum(settings)
    server = replace(
        settings.server,
        listeners=_without_controllers(settings, settings.server.listeners),
        advertised_listeners=_without_controllers(settings, settings.server.advertised_listeners),
    )
    settings = replace(settings, server=server)
    _check_listeners(settings)
    _check_advertised(settings)
    return settings


def check_log(config: LogConfig) -> None:
    """Refuses a log whose records must be compacted before they may be."""
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            "min.compaction.lag.ms",
            config.min_compaction_lag_ms,
            f"must not exceed max.compaction.lag.ms, which is {config.max_compaction_lag_ms}",
        )


def _check_zookeeper(settings: Settings) -> None:
    zookeeper = settings.zookeeper
    if zookeeper.set_acl and zookeeper.auth is None:
        raise ConfigError(
            "zookeeper.set.acl",
            "true",
            "needs ottla.zookeeper.auth, which says whose the nodes shall be",
        )
    if zookeeper.connect is not None and not (
        has_own_id(settings) or zookeeper.broker_id_generation_enable
    ):
        raise ConfigError(
            "broker.id", None, "must be given where broker.id.generation.enable is false"
        )


def _check_quorum(settings: Settings) -> None:
    """Refuses a node of a KRaft cluster without ZooKeeper: each of them would become a lone broker."""
    if settings.zookeeper.connect is not None:
        return
    for name in ("controller.quorum.voters", "controller.quorum.bootstrap.servers"):
        members = _words(settings, name)
        roles = _words(settings, "process.roles")
        elsewhere = bool(members and roles and "controller" not in roles)
        if len(members) < _FEWEST_OF_A_CLUSTER and not elsewhere:
            continue
        hosts = dict.fromkeys(each.rpartition("@")[2].rpartition(":")[0] for each in members)
        lines = ["zookeeper.connect=" + ",".join(f"{host}:2181" for host in hosts)]
        if not has_own_id(settings):
            lines.append("node.id=1 (another number on each node)")
        raise ConfigError(
            name,
            ",".join(members),
            "belongs to a cluster, and without ZooKeeper this broker would stand alone. In its place, "
            f"with a ZooKeeper at these addresses, {' and '.join(lines)} makes it a cluster here; "
            "one broker alone needs neither",
        )


def has_own_id(settings: Settings) -> bool:
    """Tells whether somebody has given this broker its id."""
    given = settings.given
    return "node.id" in given or ("broker.id" in given and given["broker.id"].text.strip() != "-1")


def _words(settings: Settings, name: str) -> list[str]:
    given = settings.given.get(name)
    return [] if given is None else [word.strip() for word in given.text.split(",") if word.strip()]


def _check_roles(settings: Settings) -> None:
    roles = _words(settings, "process.roles")
    if roles and "broker" not in roles:
        raise ConfigError(
            "process.roles",
            ",".join(roles),
            "must include broker; ottla needs no separate controllers, so do not start this node",
        )


def _check_ids(settings: Settings) -> None:
    if "node.id" in settings.given and "broker.id" in settings.given:
        broker_id = settings.given["broker.id"].text.strip()
        if broker_id not in ("-1", str(settings.server.node_id)):
            raise ConfigError(
                "broker.id", broker_id, f"must equal node.id, which is {settings.server.node_id}"
            )


def check_limits(settings: Settings) -> None:
    """Refuses to close the door on everybody."""
    server = settings.server
    if server.max_connections_per_ip == 0 and not server.max_connections_per_ip_overrides:
        raise ConfigError(
            "max.connections.per.ip", 0, "may be 0 only with max.connections.per.ip.overrides"
        )


def check_groups(config: GroupsConfig) -> None:
    """Refuses consumer groups whose times are out of their bounds, or whose members would die between heartbeats."""
    for name, value, low, high in (
        (
            "group.consumer.session.timeout.ms",
            config.group_consumer_session_timeout_ms,
            config.group_consumer_min_session_timeout_ms,
            config.group_consumer_max_session_timeout_ms,
        ),
        (
            "group.consumer.heartbeat.interval.ms",
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_min_heartbeat_interval_ms,
            config.group_consumer_max_heartbeat_interval_ms,
        ),
        (
            "group.consumer.assignment.interval.ms",
            config.group_consumer_assignment_interval_ms,
            config.group_consumer_min_assignment_interval_ms,
            config.group_consumer_max_assignment_interval_ms,
        ),
    ):
        # No interval, the default of ottla alone, is within bounds that are made for Kafka's.
        if value and not low <= value <= high:
            raise ConfigError(
                name, value, f"must be between its bounds, which are {low} and {high}"
            )
    session_timeout_ms = config.group_consumer_session_timeout_ms
    if config.group_consumer_heartbeat_interval_ms >= session_timeout_ms:
        raise ConfigError(
            "group.consumer.heartbeat.interval.ms",
            config.group_consumer_heartbeat_interval_ms,
            f"must be less than group.consumer.session.timeout.ms, which is {session_timeout_ms}",
        )


def _without_controllers(
    settings: Settings, listeners: tuple[Listener, ...]
) -> tuple[Listener, ...]:
    names = {name.upper() for name in _words(settings, "controller.listener.names")}
    return tuple(listener for listener in listeners if listener.name not in names)


def _check_listeners(settings: Settings) -> None:
    listeners = settings.server.listeners
    if not listeners:
        raise _wrong_listeners(settings, "must have one that is not for controllers")
    if len({listener.name for listener in listeners}) < len(listeners):
        raise _wrong_listeners(settings, "must each have a name of its own")
    fixed = [(listener.host, listener.port) for listener in listeners if listener.port]
    if len(set(fixed)) < len(fixed):
        raise _wrong_listeners(settings, "must each have a port of its own")
    for listener in listeners:
        _check_protocol(settings, listener)


def _check_protocol(settings: Settings, listener: Listener) -> None:
    protocols = dict(settings.server.listener_security_protocol_map)
    protocol = protocols.get(listener.name)
    if protocol is None:
        raise ConfigError(
            "listeners",
            listener,
            f"has no protocol: add {listener.name}:PLAINTEXT to listener.security.protocol.map",
        )
    if protocol != "PLAINTEXT":
        raise ConfigError(
            "listeners",
            listener,
            f"must be PLAINTEXT: {protocol} is not available in this version",
        )


def _check_advertised(settings: Settings) -> None:
    names = {listener.name for listener in settings.server.listeners}
    for advertised in settings.server.advertised_listeners:
        if advertised.host in ("0.0.0.0", "::", "0:0:0:0:0:0:0:0"):
            raise ConfigError(
                "advertised.listeners", advertised, "must be an address that clients can reach"
            )
        if advertised.name not in names:
            raise ConfigError(
                "advertised.listeners", advertised, "must have a listener of the same name"
            )


def _wrong_listeners(settings: Settings, why: str) -> ConfigError:
    given = settings.given.get("listeners")
    return ConfigError("listeners", given.text if given else None, why)
