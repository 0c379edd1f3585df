"""Pure: the image, an immutable view of the cluster, and the delta between two of them.

Images share all that did not change: a new one costs shallow copies of the maps that were touched,
never of the topics in them (5 us at 1,000 topics). Equal topics are the same object in successive
images, so that anything derived from a TopicImage may be cached by its identity.
"""

import uuid
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from ottla.cluster.znodes import DEFAULT_BROKER, Bound, Endpoint

K = TypeVar("K")
V = TypeVar("V")

NO_LEADER: Final = -1


class BrokerImage(NamedTuple):
    """A broker that is registered; `epoch` is the czxid of its node.

    In one `life` its disks lose nothing that it acknowledged. `incarnation` is the version of the node that every
    registration of it writes; -1: of a build that counted no lives.
    """

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    epoch: int
    registered_ms: int = 0
    machine: str | None = None
    life: int = 0
    incarnation: int = -1

    def endpoint(self, listener: str) -> Endpoint | None:
        """Where a listener of this broker can be reached; None if it has no such listener."""
        return next((e for e in self.endpoints if e.listener == listener), None)


class PartitionImage(NamedTuple):
    """One partition; `partition_epoch` is the version of its state node, `zxid` when that was written.

    `adding` and `removing` are what a reassignment under way does to the replicas. For `lives`, `elr` and `left` see
    `znodes.StateNode`.
    """

    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    zxid: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    lives: Mapping[int, int] = MappingProxyType({})
    elr: tuple[int, ...] = ()
    left: Mapping[int, Bound | None] = MappingProxyType({})


class TopicImage(NamedTuple):
    """One topic; `version` is that of its node, for compare-and-set."""

    name: str
    topic_id: uuid.UUID
    partitions: tuple[PartitionImage, ...]
    version: int

    def partition(self, index: int) -> PartitionImage | None:
        """The partition of that number; None if there is none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class ConfigImage(NamedTuple):
    """Settings that override others; `version` is that of their node."""

    values: Mapping[str, str]
    version: int


NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})


class Image(NamedTuple):
    """The cluster at one moment. Nothing in it is ever changed."""

    brokers: Mapping[int, BrokerImage] = MappingProxyType({})
    topics: Mapping[str, TopicImage] = MappingProxyType({})
    topics_by_id: Mapping[uuid.UUID, TopicImage] = MappingProxyType({})
    topic_configs: Mapping[str, ConfigImage] = MappingProxyType({})
    broker_configs: Mapping[str, ConfigImage] = MappingProxyType({})
    group_configs: Mapping[str, ConfigImage] = MappingProxyType({})
    features: Mapping[str, int] = MappingProxyType({})
    controller_id: int = -1
    cluster_id: str = ""

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """Finds a partition; None if there is no such topic or partition."""
        found = self.topics.get(topic)
        return None if found is None else found.partition(index)

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """What a topic overrides."""
        config = self.topic_configs.get(topic)
        return NO_SETTINGS if config is None else config.values

    def broker_config(self, broker_id: int | None) -> Mapping[str, str]:
        """What a broker, or with None all of them, have been told at run time."""
        config = self.broker_configs.get(broker_config_key(broker_id))
        return NO_SETTINGS if config is None else config.values

    def group_config(self, group_id: str) -> Mapping[str, str]:
        """What a group has been told, whether it exists or not."""
        config = self.group_configs.get(group_id)
        return NO_SETTINGS if config is None else config.values

    def offline_replicas(self, partition: PartitionImage) -> tuple[int, ...]:
        """The replicas whose broker is not registered."""
        return tuple(b for b in partition.replicas if b not in self.brokers)


class TopicChange(NamedTuple):
    """A topic before and after; None where it did not exist."""

    before: TopicImage | None
    after: TopicImage | None

    @property
    def replaced(self) -> bool:
        """Whether another topic of the same name was deleted in between."""
        return (
            self.before is not None
            and self.after is not None
            and self.before.topic_id != self.after.topic_id
        )


class Delta(NamedTuple):
    """What differs between two images, by the key it has in them."""

    topics: Mapping[str, TopicChange] = MappingProxyType({})
    topic_configs: frozenset[str] = frozenset()
    broker_configs: frozenset[str] = frozenset()
    group_configs: frozenset[str] = frozenset()
    brokers: frozenset[int] = frozenset()
    features: bool = False
    controller: bool = False

    def created_topics(self) -> Iterator[TopicImage]:
        """Topics that are new, also where one of the same name was deleted."""
        for change in self.topics.values():
            if change.after is not None and (change.before is None or change.replaced):
                yield change.after

    def deleted_topics(self) -> Iterator[TopicImage]:
        """Topics that are gone, also where one of the same name was made since."""
        for change in self.topics.values():
            if change.before is not None and (change.after is None or change.replaced):
                yield change.before

    def changed_partitions(self) -> Iterator[tuple[TopicImage, PartitionImage]]:
        """Partitions that are new or differ, those of new topics included."""
        for before, after in self.topics.values():
            if after is None:
                continue
            same = before is not None and before.topic_id == after.topic_id
            old = before.partitions if same and before is not None else ()
            for partition in after.partitions:
                index = partition.partition
                if index >= len(old) or old[index] != partition:
                    yield after, partition


class Changes(NamedTuple):
    """Parts of the cluster as they are now; None stands for what no longer exists."""

    topics: Mapping[str, TopicImage | None] = MappingProxyType({})
    topic_configs: Mapping[str, ConfigImage | None] = MappingProxyType({})
    broker_configs: Mapping[str, ConfigImage | None] = MappingProxyType({})
    group_configs: Mapping[str, ConfigImage | None] = MappingProxyType({})
    brokers: Mapping[int, BrokerImage | None] = MappingProxyType({})
    features: Mapping[str, int] | None = None
    controller_id: int | None = None
    cluster_id: str | None = None


def advance(image: Image, changes: Changes) -> tuple[Image, Delta]:
    """Makes the next image; the delta leaves out what was named as changed but is the same."""
    topics = _differing(image.topics, changes.topics)
    topic_configs = _differing(image.topic_configs, changes.topic_configs)
    broker_configs = _differing(image.broker_configs, changes.broker_configs)
    group_configs = _differing(image.group_configs, changes.group_configs)
    brokers = _differing(image.brokers, changes.brokers)
    after = Image(
        brokers=_merged(image.brokers, brokers),
        topics=_merged(image.topics, topics),
        topics_by_id=_merged(image.topics_by_id, _by_id(image, topics)),
        topic_configs=_merged(image.topic_configs, topic_configs),
        broker_configs=_merged(image.broker_configs, broker_configs),
        group_configs=_merged(image.group_configs, group_configs),
        features=image.features if changes.features is None else changes.features,
        controller_id=_either(changes.controller_id, image.controller_id),
        cluster_id=_either(changes.cluster_id, image.cluster_id),
    )
    delta = Delta(
        topics={n: TopicChange(image.topics.get(n), after.topics.get(n)) for n in topics},
        topic_configs=frozenset(topic_configs),
        broker_configs=frozenset(broker_configs),
        group_configs=frozenset(group_configs),
        brokers=frozenset(brokers),
        features=after.features != image.features,
        controller=after.controller_id != image.controller_id,
    )
    return after, delta


def _differing(current: Mapping[K, V], named: Mapping[K, V | None]) -> dict[K, V | None]:
    return {key: value for key, value in named.items() if current.get(key) != value}


def _merged(current: Mapping[K, V], changed: Mapping[K, V | None]) -> Mapping[K, V]:
    if not changed:
        return current
    merged = dict(current)
    for key, value in changed.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def _by_id(
    image: Image, topics: Mapping[str, TopicImage | None]
) -> dict[uuid.UUID, TopicImage | None]:
    gone = [image.topics[name].topic_id for name in topics if name in image.topics]
    found: dict[uuid.UUID, TopicImage | None] = dict.fromkeys(gone)
    found.update((topic.topic_id, topic) for topic in topics.values() if topic is not None)
    return found


def _either(named: V | None, current: V) -> V:
    return current if named is None else named


def broker_config_key(broker_id: int | None) -> str:
    """How the settings of a broker, or with None of all brokers, are keyed."""
    return DEFAULT_BROKER if broker_id is None else str(broker_id)
