"""Reads what is stale in the image from the tree: many nodes at a time, never one by one."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ottla.base.errors import ClusterError
from ottla.cluster import znodes
from ottla.cluster.image import (
    NO_LEADER,
    BrokerImage,
    Changes,
    ConfigImage,
    Image,
    PartitionImage,
    TopicImage,
)
from ottla.cluster.stale import Stale
from ottla.cluster.tree import NoNode, Stat, Tree
from ottla.cluster.znodes import TopicNode

K = TypeVar("K")
V = TypeVar("V")
Unreadable = Callable[[ClusterError], None]
StateKey = tuple[str, int]


async def all_parts(tree: Tree, image: Image) -> Stale:
    """Names all that the tree holds, and all that the image does: nothing is left to be stale."""
    topics = {*image.topics, *await _children(tree, znodes.TOPICS)}
    brokers = {*map(str, image.brokers), *await _children(tree, znodes.BROKER_IDS)}
    groups = map(znodes.group_of, await _children(tree, znodes.GROUP_CONFIGS))
    return Stale(
        topics=dict.fromkeys(topics),
        topic_configs={*image.topic_configs, *await _children(tree, znodes.TOPIC_CONFIGS)},
        broker_configs={*image.broker_configs, *await _children(tree, znodes.BROKER_CONFIGS)},
        group_configs={*image.group_configs, *groups},
        brokers={int(broker) for broker in brokers},
        singles={znodes.CONTROLLER, znodes.FEATURES, znodes.CLUSTER_ID},
    )


async def read_changes(tree: Tree, image: Image, stale: Stale, unreadable: Unreadable) -> Changes:
    """Reads every stale part; a node that cannot be read is reported and taken as unchanged."""
    if stale.everything:
        stale = await all_parts(tree, image)
    singles = await _read(tree, {path: path for path in stale.singles}, _decode_single, unreadable)
    return Changes(
        topics=await _read_topics(tree, image, stale, unreadable),
        topic_configs=await _read(
            tree, {t: znodes.topic_config_path(t) for t in stale.topic_configs}, _config, unreadable
        ),
        broker_configs=await _read(
            tree,
            {b: znodes.broker_config_path(b) for b in stale.broker_configs},
            _config,
            unreadable,
        ),
        group_configs=await _read(
            tree, {g: znodes.group_config_path(g) for g in stale.group_configs}, _config, unreadable
        ),
        brokers=await _read(
            tree, {b: znodes.broker_path(b) for b in stale.brokers}, _broker, unreadable
        ),
        features=_value(singles, znodes.FEATURES, {}),
        controller_id=_value(singles, znodes.CONTROLLER, NO_LEADER),
        cluster_id=_value(singles, znodes.CLUSTER_ID, ""),
    )


async def _children(tree: Tree, path: str) -> list[str]:
    try:
        return await tree.children(path)
    except NoNode:
        return []


async def _read(
    tree: Tree,
    paths: Mapping[K, str],
    decode: Callable[[str, bytes, Stat], V],
    unreadable: Unreadable,
) -> dict[K, V | None]:
    found: dict[K, V | None] = {}
    nodes = await tree.get_many(list(paths.values()))
    for (key, path), node in zip(paths.items(), nodes, strict=True):
        try:
            found[key] = None if node is None else decode(path, *node)
        except ClusterError as error:
            unreadable(error)
    return found


async def _read_topics(
    tree: Tree, image: Image, stale: Stale, unreadable: Unreadable
) -> dict[str, TopicImage | None]:
    whole = [t for t, partitions in stale.topics.items() if partitions is None]
    # A state may be heard of before its topic: then there is nothing to put it into yet, and the
    # topic's own event is still to come.
    partly = {t: p for t, p in stale.topics.items() if p is not None and t in image.topics}
    headers = await _read(tree, {t: znodes.topic_path(t) for t in whole}, _topic, unreadable)
    known = {t: header for t, header in headers.items() if header is not None}
    wanted = [(t, p) for t, (node, _) in known.items() for p in range(len(node.replicas))]
    wanted += [(t, p) for t, partitions in partly.items() for p in sorted(partitions)]
    states = await _read(tree, {key: znodes.state_path(*key) for key in wanted}, _state, unreadable)
    found: dict[str, TopicImage | None] = {t: None for t, h in headers.items() if h is None}
    for topic, (node, version) in known.items():
        found[topic] = _assembled(topic, node, version, states)
    for topic, partitions in partly.items():
        found[topic] = _updated(image.topics[topic], partitions, states)
    return found


def _assembled(
    topic: str, node: TopicNode, version: int, states: Mapping[StateKey, PartitionImage | None]
) -> TopicImage:
    partitions = []
    for index, replicas in enumerate(node.replicas):
        adding, removing = node.adding.get(index, ()), node.removing.get(index, ())
        bare = PartitionImage(index, replicas, (), NO_LEADER, 0, -1, 0, adding, removing)
        partitions.append(_placed(bare, states.get((topic, index))))
    return TopicImage(topic, node.topic_id, tuple(partitions), version)


def _updated(
    topic: TopicImage, which: Iterable[int], states: Mapping[StateKey, PartitionImage | None]
) -> TopicImage:
    partitions = list(topic.partitions)
    for index in which:
        if index < len(partitions) and (topic.name, index) in states:
            partitions[index] = _placed(partitions[index], states[topic.name, index])
    return topic._replace(partitions=tuple(partitions))


def _placed(placed: PartitionImage, state: PartitionImage | None) -> PartitionImage:
    """Joins where a partition is with who leads it; without a state it has no leader yet."""
    if state is None:
        state = PartitionImage(0, (), (), NO_LEADER, 0, -1)
    return state._replace(
        partition=placed.partition,
        replicas=placed.replicas,
        adding=placed.adding,
        removing=placed.removing,
    )


def _topic(path: str, data: bytes, stat: Stat) -> tuple[TopicNode, int]:
    return znodes.decode_topic(path, data), stat.version


def _state(path: str, data: bytes, stat: Stat) -> PartitionImage:
    state = znodes.decode_state(path, data)
    return PartitionImage(
        0,
        (),
        state.isr,
        state.leader,
        state.leader_epoch,
        stat.version,
        stat.mzxid,
        lives=state.lives,
        elr=state.elr,
        left=state.left,
    )


def _config(path: str, data: bytes, stat: Stat) -> ConfigImage:
    return ConfigImage(znodes.decode_config(path, data), stat.version)


def _broker(path: str, data: bytes, stat: Stat) -> BrokerImage:
    node = znodes.decode_broker(path, data)
    broker_id = int(path[path.rindex("/") + 1 :])
    return BrokerImage(
        broker_id,
        node.endpoints,
        node.rack,
        stat.czxid,
        node.timestamp_ms,
        node.machine,
        # Of a build that counts no lives: each registration is taken for another one.
        -stat.czxid if node.life is None else node.life,
        node.incarnation,
    )


_SINGLES: Mapping[str, Callable[[str, bytes], object]] = {
    znodes.CONTROLLER: znodes.decode_controller,
    znodes.FEATURES: znodes.decode_features,
    znodes.CLUSTER_ID: znodes.decode_cluster_id,
}


def _decode_single(path: str, data: bytes, _: Stat) -> object:
    return _SINGLES[path](path, data)


def _value(singles: Mapping[str, Any], path: str, missing: V) -> V | None:
    """None where the node was not read; `missing` where it does not exist."""
    if path not in singles:
        return None
    return missing if singles[path] is None else singles[path]
