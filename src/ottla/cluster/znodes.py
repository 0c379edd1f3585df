"""Pure: every path of the metadata tree, with what its node holds, as Kafka laid them out.

The data is JSON with Kafka's names and versions, so that ZooKeeper tools show what people expect.
Data that cannot be read raises ClusterError, which names the path.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote, unquote

from ottla.base.errors import ClusterError
from ottla.base.ids import id_text, parse_id

T = TypeVar("T")

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))

BROKER_IDS: Final = "/brokers/ids"
BROKER_INCARNATIONS: Final = "/brokers/incarnations"
BROKER_SEQUENCE: Final = "/brokers/seqid"
TOPICS: Final = "/brokers/topics"
TOPIC_CONFIGS: Final = "/config/topics"
BROKER_CONFIGS: Final = "/config/brokers"
GROUP_CONFIGS: Final = "/config/groups"
CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
CLUSTER_ID: Final = "/cluster/id"
CLUSTER_SECRET: Final = "/cluster/secret"
PRODUCER_ID_BLOCK: Final = "/latest_producer_id_block"
FEATURES: Final = "/feature"

DEFAULT_BROKER: Final = "<default>"
"""Stands for all brokers in `/config/brokers`."""

SKELETON: Final = (
    BROKER_IDS,
    BROKER_INCARNATIONS,
    BROKER_SEQUENCE,
    TOPICS,
    TOPIC_CONFIGS,
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    "/cluster",
    "/admin/delete_topics",
)
"""Nodes that exist in every tree; whoever opens one makes sure of them."""


def broker_path(broker_id: int) -> str:
    """A broker that is alive: ephemeral, and its czxid is the broker epoch."""
    return f"{BROKER_IDS}/{broker_id}"


def incarnation_path(broker_id: int) -> str:
    """Outlives its broker; its version counts the broker's registrations. ottla's own."""
    return f"{BROKER_INCARNATIONS}/{broker_id}"


def topic_path(topic: str) -> str:
    """A topic: its id and where its replicas are."""
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    """The parent of a topic's partitions."""
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    """The parent of a partition's state."""
    return f"{TOPICS}/{topic}/partitions/{partition}"


def state_path(topic: str, partition: int) -> str:
    """A partition's leader and ISR; the version of the node is the partition epoch."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def topic_config_path(topic: str) -> str:
    """What a topic overrides."""
    return f"{TOPIC_CONFIGS}/{topic}"


def broker_config_path(broker: str) -> str:
    """What a broker, or all of them (`<default>`), have been told at run time."""
    return f"{BROKER_CONFIGS}/{broker}"


def group_config_path(group_id: str) -> str:
    """What a group has been told; groups have any name, which is written as Kafka writes those of users."""
    dots = group_id in (".", "..")
    # A path may not contain them, and a group may be called so.
    name = group_id.replace(".", "%2E") if dots else quote(group_id, safe="")
    return f"{GROUP_CONFIGS}/{name}"


def group_of(name: str) -> str:
    """The group that a node of `/config/groups` is about."""
    return unquote(name)


class Endpoint(NamedTuple):
    """Where one listener of a broker can be reached."""

    listener: str
    security_protocol: str
    host: str
    port: int


class BrokerNode(NamedTuple):
    """What a broker says of itself.

    Four fields are ottla's own. `machine`: the name of the host it runs on, whatever addresses it is reached by:
    replicas keep apart where no racks are named. `life` and `incarnation` are those of the registration (None, -1: of
    a build that counted no lives); `clean` tells the controller of such a build that the life goes on.
    """

    endpoints: tuple[Endpoint, ...]
    rack: str | None
    timestamp_ms: int
    clean: bool = True
    machine: str | None = None
    life: int | None = None
    incarnation: int = -1


class IncarnationNode(NamedTuple):
    """What outlives a broker's registration: the log directories, the life and the process that registered last."""

    directories: tuple[str, ...]
    life: int | None = None
    process: str = ""
    registered_ms: int = 0


class TopicNode(NamedTuple):
    """A topic's id, the replicas of each partition, and of those that move what comes and what goes."""

    topic_id: uuid.UUID
    replicas: tuple[tuple[int, ...], ...]
    adding: Mapping[int, tuple[int, ...]] = MappingProxyType({})
    removing: Mapping[int, tuple[int, ...]] = MappingProxyType({})


Bound: TypeAlias = tuple[int, int]
"""The last leader epoch of a log, and where it ends: the greater of two logs has all that is committed in the other."""


class StateNode(NamedTuple):
    """Who leads a partition, who is in sync, and who may hold what is committed (docs/adr/0010-lives.md).

    `lives` names the life of each member of `isr` and `elr`. Replicas that `left` the ISR hold nothing committed behind
    their bound; None: no leader has told it yet.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    lives: Mapping[int, int] = MappingProxyType({})
    elr: tuple[int, ...] = ()
    left: Mapping[int, Bound | None] = MappingProxyType({})


class ProducerIdBlock(NamedTuple):
    """Producer ids that one broker may give away; both ends belong to it."""

    broker_id: int
    start: int
    end: int


def encode_broker(node: BrokerNode) -> bytes:
    """Writes a registration, version 5 of Kafka's."""
    first = node.endpoints[0]
    fields: dict[str, object] = {
        "version": 5,
        "host": first.host,
        "port": first.port,
        "jmx_port": -1,
        "timestamp": str(node.timestamp_ms),
        "endpoints": [f"{e.listener}://{_bracketed(e.host)}:{e.port}" for e in node.endpoints],
        "listener_security_protocol_map": {e.listener: e.security_protocol for e in node.endpoints},
        "features": {},
    }
    if not node.clean:
        fields["clean"] = False
    if node.rack is not None:
        fields["rack"] = node.rack
    if node.machine is not None:
        fields["machine"] = node.machine
    if node.life is not None:
        fields |= {"life": node.life, "incarnation": node.incarnation}
    return _dump(fields)


def decode_broker(path: str, data: bytes) -> BrokerNode:
    """Reads a registration."""

    def read(fields: dict[str, Any]) -> BrokerNode:
        protocols = fields["listener_security_protocol_map"]
        endpoints = tuple(_endpoint(text, protocols) for text in fields["endpoints"])
        return BrokerNode(
            endpoints,
            fields.get("rack"),
            int(fields["timestamp"]),
            bool(fields.get("clean", True)),
            fields.get("machine"),
            _number(fields.get("life")),
            int(fields.get("incarnation", -1)),
        )

    return _load(path, data, read)


def encode_incarnation(timestamp_ms: int, node: IncarnationNode) -> bytes:
    """Writes when a broker registered last, which one it is, and in which life; the node's version is the count."""
    fields: dict[str, object] = {
        "version": 1,
        "timestamp": str(timestamp_ms),
        "directories": list(node.directories),
    }
    if node.life is not None:
        fields |= {"life": node.life, "process": node.process}
    return _dump(fields)


def decode_incarnation(path: str, data: bytes) -> IncarnationNode:
    """Reads which broker registered last, and in which life; a build that counted no lives wrote none."""

    def read(fields: dict[str, Any]) -> IncarnationNode:
        directories = tuple(map(str, fields.get("directories", ())))
        return IncarnationNode(
            directories,
            _number(fields.get("life")),
            str(fields.get("process", "")),
            int(fields.get("timestamp", 0)),
        )

    return _load(path, data, read)


def encode_topic(node: TopicNode) -> bytes:
    """Writes a topic, version 3 of Kafka's."""
    return _dump(
        {
            "version": 3,
            "topic_id": id_text(node.topic_id),
            "partitions": {str(p): list(replicas) for p, replicas in enumerate(node.replicas)},
            "adding_replicas": {str(p): list(ids) for p, ids in node.adding.items()},
            "removing_replicas": {str(p): list(ids) for p, ids in node.removing.items()},
        }
    )


def decode_topic(path: str, data: bytes) -> TopicNode:
    """Reads a topic."""

    def read(fields: dict[str, Any]) -> TopicNode:
        partitions = fields["partitions"]
        replicas = tuple(_ids(partitions[str(p)]) for p in range(len(partitions)))
        return TopicNode(
            parse_id(fields["topic_id"]),
            replicas,
            _moves(fields.get("adding_replicas")),
            _moves(fields.get("removing_replicas")),
        )

    return _load(path, data, read)


def encode_state(node: StateNode) -> bytes:
    """Writes a partition's state; Kafka's tools, and older builds, do not look at the last three fields."""
    fields: dict[str, object] = {
        "controller_epoch": node.controller_epoch,
        "leader": node.leader,
        "version": 1,
        "leader_epoch": node.leader_epoch,
        "isr": list(node.isr),
    }
    if node.lives:
        fields["lives"] = {str(broker): life for broker, life in node.lives.items()}
    if node.elr:
        fields["elr"] = list(node.elr)
    if node.left:
        fields["left"] = {str(broker): bound for broker, bound in node.left.items()}
    return _dump(fields)


def decode_state(path: str, data: bytes) -> StateNode:
    """Reads a partition's state."""

    def read(fields: dict[str, Any]) -> StateNode:
        return StateNode(
            int(fields["leader"]),
            int(fields["leader_epoch"]),
            _ids(fields["isr"]),
            int(fields["controller_epoch"]),
            {int(broker): int(life) for broker, life in fields.get("lives", {}).items()},
            _ids(fields.get("elr", [])),
            {int(broker): _bound(bound) for broker, bound in fields.get("left", {}).items()},
        )

    return _load(path, data, read)


def encode_config(values: Mapping[str, str]) -> bytes:
    """Writes settings that override others."""
    return _dump({"version": 1, "config": dict(values)})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    """Reads settings that override others."""
    return _load(path, data, lambda fields: {str(k): str(v) for k, v in fields["config"].items()})


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    """Writes who the controller is."""
    return _dump({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp_ms)})


def decode_controller(path: str, data: bytes) -> int:
    """Reads the broker id of the controller."""
    return _load(path, data, lambda fields: int(fields["brokerid"]))


def encode_cluster_id(cluster_id: str) -> bytes:
    """Writes the name of the cluster."""
    return _dump({"version": "1", "id": cluster_id})


def decode_cluster_id(path: str, data: bytes) -> str:
    """Reads the name of the cluster."""
    return _load(path, data, lambda fields: str(fields["id"]))


def encode_producer_ids(block: ProducerIdBlock) -> bytes:
    """Writes the block of producer ids that was given away last."""
    return _dump(
        {
            "version": 1,
            "broker": block.broker_id,
            "block_start": str(block.start),
            "block_end": str(block.end),
        }
    )


def decode_producer_ids(path: str, data: bytes) -> ProducerIdBlock:
    """Reads the block of producer ids that was given away last."""
    return _load(
        path,
        data,
        lambda fields: ProducerIdBlock(
            int(fields["broker"]), int(fields["block_start"]), int(fields["block_end"])
        ),
    )


def encode_features(features: Mapping[str, int]) -> bytes:
    """Writes the finalized level of each feature; status 1 means that they are in force."""
    return _dump({"version": 2, "status": 1, "features": dict(features)})


def decode_features(path: str, data: bytes) -> dict[str, int]:
    """Reads the finalized level of each feature."""
    return _load(path, data, lambda fields: {str(k): int(v) for k, v in fields["features"].items()})


def encode_number(number: int) -> bytes:
    """Writes a node that holds nothing but a number, such as `/controller_epoch`."""
    return str(number).encode()


def decode_number(path: str, data: bytes) -> int:
    """Reads a node that holds nothing but a number."""
    try:
        return int(data)
    except ValueError:
        raise _unreadable(path, "it is not a number") from None


def _dump(fields: Mapping[str, object]) -> bytes:
    return _ENCODER.encode(fields).encode()


def _load(path: str, data: bytes, read: Callable[[dict[str, Any]], T]) -> T:
    try:
        return read(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(path, f"{type(error).__name__}: {error}") from error


def _unreadable(path: str, why: str) -> ClusterError:
    return ClusterError(f"{path}: the node cannot be read ({why}); mend or delete it")


def _ids(values: list[Any]) -> tuple[int, ...]:
    return tuple(map(int, values))


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _bound(value: list[Any] | None) -> Bound | None:
    return None if value is None else (int(value[0]), int(value[1]))


def _moves(fields: dict[str, list[Any]] | None) -> dict[int, tuple[int, ...]]:
    return {int(partition): _ids(ids) for partition, ids in (fields or {}).items()}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    return Endpoint(listener, protocols[listener], host.strip("[]"), int(port))
