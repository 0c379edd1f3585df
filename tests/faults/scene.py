"""A cluster, the clients that work on it, and what was seen: all that a fault needs to strike."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from ottla.coordination.routing import partition_for
from tests.checker.expectations import Compaction, Expectations
from tests.faults.site import BROKERS, Site
from tests.faults.tree import TreeView
from tests.support.broker import OttlaBroker
from tests.support.clients import create_named
from tests.support.waiting import wait_for
from tests.workload.cast import GROUP, PARTITIONS, Cast
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S, key_of
from tests.workload.writers import KEYED, KeyedWriter

NAMES: Final = (
    "writer", "transactional-0", "transactional-1", "rivals",
    "copier", "careful", "careless", "member-0", "member-1", "observer",
)  # fmt: skip
COMPACTED: Final = "newest"
COMPACTION: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "2000",
    "min.cleanable.dirty.ratio": "0.01",
}
GROUPS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
CLIENT_SETTINGS: Final = {
    # Whoever has been cut off is given up soon, and who leads instead is asked for.
    "request.timeout.ms": 5000,
    "socket.timeout.ms": 5000,
    "socket.connection.setup.timeout.ms": 2000,
    "topic.metadata.refresh.interval.ms": 2000,
}
SETTLED_S: Final = 60.0


@dataclass(slots=True)
class Scene:
    """What a fault may look at and lay hands on."""

    site: Site
    cast: Cast
    tree: TreeView
    chance: random.Random

    @property
    def recorder(self) -> Recorder:
        """What happened so far."""
        return self.cast.recorder

    @property
    def topics(self) -> list[str]:
        """The topics of the workload."""
        return [self.cast.source, self.cast.target, COMPACTED]

    @property
    def compacted_keys(self) -> list[str]:
        """The logs that are compacted."""
        return [key_of(COMPACTED, number) for number in range(PARTITIONS)]

    @property
    def written_keys(self) -> list[str]:
        """The logs that somebody writes to all the time."""
        return [*self.cast.source_keys, *self.compacted_keys]

    def broker(self, number: int) -> OttlaBroker:
        """One broker."""
        return self.site.brokers[number]

    def leader(self) -> int:
        """Who leads one of the partitions that everybody writes to."""
        return self.tree.leader(self.cast.source, self.chance.randrange(PARTITIONS))

    def follower(self) -> int:
        """Somebody who does not lead the first partition."""
        leader = self.tree.leader(self.cast.source)
        return self.chance.choice([each for each in BROKERS if each != leader])

    def controller(self) -> int:
        """Who is the controller, once there is one."""
        return wait_for(lambda: max(self.tree.controller(), 0), "a controller", SETTLED_S)

    def coordinator(self, topic: str, key: str) -> int:
        """Who coordinates a group or a transactional id."""
        return self.tree.leader(topic, partition_for(key, len(self.tree.replicas(topic))))

    def group_coordinator(self) -> int:
        """Who coordinates the group of readers."""
        return self.coordinator(GROUPS_TOPIC, GROUP)

    def transaction_coordinator(self) -> int:
        """Who coordinates one of the transactional writers."""
        return self.coordinator(TRANSACTIONS_TOPIC, f"transactional-{self.chance.randrange(2)}")

    def hold(self, seconds: float) -> None:
        """Let them work for so long, whether they get anything done or not."""
        until = time.monotonic() + seconds

        def is_over() -> bool:
            self.cast.check_failures()
            return time.monotonic() > until

        wait_for(is_over, "time to pass", seconds + TIMEOUT_S)

    def settle(self) -> None:
        """Wait until all brokers are registered, everything is led, and every replica is in sync."""
        topics = [*self.topics, GROUPS_TOPIC, TRANSACTIONS_TOPIC]

        def is_settled() -> bool:
            self.cast.check_failures()
            return self.tree.brokers() == set(BROKERS) and self.tree.is_settled(topics, 3)

        wait_for(is_settled, "all replicas to be in sync", SETTLED_S, 0.1)

    def promises(self) -> Expectations:
        """What the clients were promised."""
        compaction = Compaction(
            keys=frozenset(self.compacted_keys),
            record_key=lambda value: value.partition(KEYED)[0],
        )
        return replace(self.cast.promises(), compactions=(compaction,))


def create(bootstrap: str, topic: str, config: dict[str, str]) -> None:
    """Create a topic as soon as whoever is asked knows of all brokers, which on a busy machine takes a while."""

    def is_created() -> bool:
        try:
            create_named(bootstrap, topic, PARTITIONS, config, replicas=3)
        except KafkaException as failed:
            if failed.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR:
                raise
            return False
        return True

    wait_for(is_created, f"the brokers to have room for {topic}", SETTLED_S, 0.2)


@contextmanager
def scene(site: Site, seed: int, history: Path) -> Iterator[Scene]:
    """The clients of a cluster that runs; what they did is kept in a file if something goes wrong meanwhile."""
    recorder = Recorder()
    cast = Cast(site.bootstrap, recorder)
    configs: dict[str, dict[str, str]] = {cast.source: {}, cast.target: {}, COMPACTED: COMPACTION}
    for topic, config in configs.items():
        create(site.bootstrap, topic, config)
    cast.engage(NAMES)
    cast.writers.append(KeyedWriter("keyed", site.bootstrap, recorder, COMPACTED, PARTITIONS))
    for worker in cast.workers():
        worker.own_settings = dict(CLIENT_SETTINGS)
    with TreeView(site.connect) as tree:
        try:
            yield Scene(site, cast, tree, random.Random(seed))
        except BaseException:
            cast.abandon()
            recorder.save(history)
            raise
