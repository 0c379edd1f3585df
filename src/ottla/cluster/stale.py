"""Pure: which parts of the image a change in the tree may have made stale."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ottla.cluster import znodes
from ottla.cluster.tree import TreeEvent


@dataclass(slots=True)
class Stale:
    """Parts of the image that have to be read again; None in `topics` means all of that topic."""

    topics: dict[str, set[int] | None] = field(default_factory=dict)
    topic_configs: set[str] = field(default_factory=set)
    broker_configs: set[str] = field(default_factory=set)
    group_configs: set[str] = field(default_factory=set)
    brokers: set[int] = field(default_factory=set)
    singles: set[str] = field(default_factory=set)
    everything: bool = False

    def note(self, events: Iterable[TreeEvent]) -> None:
        """Adds what the events may have changed."""
        for event in events:
            if event.subtree:
                self.everything = True
            else:
                self._note_path(event.path)

    def _note_path(self, path: str) -> None:
        match path.split("/")[1:]:
            case ["brokers", "topics", topic]:
                self.topics[topic] = None
            case ["brokers", "topics", topic, "partitions", partition, "state"]:
                partitions = self.topics.setdefault(topic, set())
                if partitions is not None and partition.isdecimal():
                    partitions.add(int(partition))
            case ["config", "topics", topic]:
                self.topic_configs.add(topic)
            case ["config", "brokers", broker]:
                self.broker_configs.add(broker)
            case ["config", "groups", name]:
                self.group_configs.add(znodes.group_of(name))
            case ["brokers", "ids", broker] if broker.isdecimal():
                self.brokers.add(int(broker))
            case _ if path in (znodes.CONTROLLER, znodes.FEATURES, znodes.CLUSTER_ID):
                self.singles.add(path)
