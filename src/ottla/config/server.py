"""Pure: ServerConfig, who this broker is, where it listens, and how much it takes from clients."""

from dataclasses import dataclass

from ottla.base.units import INT_MAX, KiB, MiB
from ottla.config.kinds import Int, Long, OptionalText
from ottla.config.listeners import Limits, Listener, Listeners, Pairs
from ottla.config.setting import Scope, Synonym, setting

EVERYWHERE = Scope.CLUSTER_WIDE

DEFAULT_ID = 1
BROKER_ID = Synonym(
    "broker.id",
    None,
    Int(-1),
    lambda number: DEFAULT_ID if number < 0 else number,
    "Gives the id of this broker where node.id is not set; -1 stands for not set.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The broker as its clients meet it."""

    node_id: int = setting(
        "node.id",
        DEFAULT_ID,
        Int(0),
        synonyms=(BROKER_ID,),
        importance="high",
        doc="Identifies this broker among all of its cluster.",
    )
    broker_rack: str | None = setting(
        "broker.rack",
        None,
        OptionalText(),
        doc="Names the rack of this broker, so that replicas spread over racks.",
    )
    listeners: tuple[Listener, ...] = setting(
        "listeners",
        (Listener("PLAINTEXT", "localhost", 9092),),
        Listeners(),
        importance="high",
        doc="Lists where the broker listens; port 0 takes any free one.",
    )
    advertised_listeners: tuple[Listener, ...] = setting(
        "advertised.listeners",
        (),
        Listeners(),
        importance="high",
        doc="Lists the addresses that clients are told, where they differ from the listeners.",
    )
    listener_security_protocol_map: tuple[tuple[str, str], ...] = setting(
        "listener.security.protocol.map",
        (
            ("SASL_SSL", "SASL_SSL"),
            ("PLAINTEXT", "PLAINTEXT"),
            ("SSL", "SSL"),
            ("SASL_PLAINTEXT", "SASL_PLAINTEXT"),
        ),
        Pairs("INTERNAL:PLAINTEXT"),
        importance="low",
        doc="Gives the security protocol of each listener name; only PLAINTEXT can be served yet.",
    )
    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes",
        100 * MiB,
        Int(1),
        importance="high",
        doc="Closes connections that announce a request larger than this.",
    )
    request_max_bytes: int = setting(
        "ottla.request.max.bytes",
        4 * MiB,
        Int(64 * KiB),
        scope=EVERYWHERE,
        doc="Closes connections of clients that send a larger request without records, since all others wait while one "
        "is read: 4 MiB of Fetch name 120,000 partitions, and take half a second.",
    )
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes",
        -1,
        Int(-1),
        importance="high",
        doc="Sets the kernel's send buffer of each connection; -1 leaves it alone.",
    )
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes",
        -1,
        Int(-1),
        importance="high",
        doc="Sets the kernel's receive buffer of each connection; -1 leaves it alone.",
    )
    socket_listen_backlog_size: int = setting(
        "socket.listen.backlog.size",
        1024,
        Int(1),
        doc="Lets this many connections wait to be accepted.",
    )
    max_connections: int = setting(
        "max.connections",
        INT_MAX,
        Int(0),
        scope=EVERYWHERE,
        doc="Holds at most this many connections at a time.",
    )
    max_connections_per_ip: int = setting(
        "max.connections.per.ip",
        INT_MAX,
        Int(0),
        scope=EVERYWHERE,
        doc="Holds at most this many connections from one address.",
    )
    max_connections_per_ip_overrides: tuple[tuple[str, int], ...] = setting(
        "max.connections.per.ip.overrides",
        (),
        Limits(),
        scope=EVERYWHERE,
        doc="Gives single addresses or host names a limit of their own.",
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        600_000,
        Long(),
        doc="Closes connections that were silent for this long; a negative time keeps them.",
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots",
        1000,
        Int(0),
        doc="Remembers at most this many incremental fetch sessions.",
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes",
        55 * MiB,
        Int(1024),
        doc="Answers a fetch with at most this many bytes, whatever the client asks for.",
    )
    max_request_partition_size_limit: int = setting(
        "max.request.partition.size.limit",
        2000,
        Int(1),
        doc="Describes at most this many partitions in one answer to DescribeTopicPartitions.",
    )
