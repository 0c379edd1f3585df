"""Runs a topology in the test driver and on Spark, and compares what they write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.streams import StreamsBuilder, TopologyTestDriver
from ottla.streams.application import Application
from ottla.streams.topology.topology import Topology
from tests.support.clients import consume, create_named, produce, unique_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Written = dict[bytes | None, list[tuple[Any, ...]]]
"""What was written of each key, in order."""


class BothWays:
    """An application and its twin in the test driver; topics are named in the test's own words."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path) -> None:
        self.spark, self.bootstrap, self.directory = spark, bootstrap, directory
        self.prefix = unique_name("streams")
        self.application_id = f"{self.prefix}-app"
        self.application: Application | None = None
        self._driver: TopologyTestDriver | None = None
        self._topology: Topology | None = None
        self._seen: dict[str, int] = defaultdict(int)

    def topic(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def build(
        self, build: Callable[[StreamsBuilder, Callable[[str], str]], None], **partitions: int
    ) -> Application:
        """The application of what `build` makes; `partitions` are its topics, and how many they have."""
        builder = StreamsBuilder()
        build(builder, self.topic)
        self._topology = builder.build()
        self._driver = TopologyTestDriver(self._topology, self.application_id)
        for name, count in partitions.items():
            create_named(self.bootstrap, self.topic(name), count, {"retention.ms": "-1"})
        self.application = self.restarted()
        return self.application

    def restarted(self) -> Application:
        """The application, as another process would have it."""
        assert self._topology is not None
        self.application = Application(
            self._topology,
            application_id=self.application_id,
            bootstrap_servers=self.bootstrap,
            checkpoint=self.directory / "checkpoints",
            spark=self.spark,
        )
        return self.application

    def batch(self, **records: list[tuple[Any, ...]]) -> None:
        """Give records (key, value, timestamp[, headers]) to both, and let both handle them as one batch."""
        assert self._driver is not None
        assert self.application is not None
        with self._driver.batch():
            for name, given in records.items():
                into = self._driver.input(self.topic(name))
                for record in given:
                    self._send(into, name, *record)
        self.application.run(until_caught_up=True)

    def _send(
        self, into: Any, name: str, key: Any, value: Any, timestamp_ms: int, headers: Any = ()
    ) -> None:
        data = [
            None if part is None else part if isinstance(part, bytes) else serde.serialize(part)
            for part, serde in ((key, into._key_serde), (value, into._value_serde))
        ]
        into.send_bytes(*data, timestamp_ms, headers)
        record = {"key": data[0], "value": data[1], "timestamp": timestamp_ms}
        produce(self.bootstrap, self.topic(name), [{**record, "headers": list(headers)}])

    def same(self, *names: str) -> Written:
        """What both have written to the topics since the last call; they are asserted to agree."""
        found: Written = {}
        for name in names:
            topic = self._full(name)
            ours = self._on_spark(topic)
            theirs = self._in_driver(topic)
            assert ours == theirs, (
                f"{name}: Spark (left) and the test driver differ: {ours} {theirs}"
            )
            found |= ours
        return found

    def _full(self, name: str) -> str:
        return f"{self.application_id}-dead-letters" if name == "dead-letters" else self.topic(name)

    def _in_driver(self, topic: str) -> Written:
        assert self._driver is not None
        run, first = self._driver._run, self._driver._read.get(topic, 0)
        records = run.written.get(topic, [])
        self._driver._read[topic] = len(records)
        found: Written = defaultdict(list)
        for each in records[first:]:
            found[each.key].append((each.value, each.timestamp_ms, tuple(each.headers)))
        return dict(found)

    def _on_spark(self, topic: str) -> Written:
        found: Written = defaultdict(list)
        for partition in range(_partitions(self.bootstrap, topic)):
            for each in consume(self.bootstrap, topic, partition, isolation_level="read_committed"):
                place = f"{topic}-{partition}"
                if each.offset() < self._seen[place]:
                    continue
                self._seen[place] = each.offset() + 1
                headers = tuple(each.headers() or ())
                found[each.key()].append((each.value(), each.timestamp()[1], headers))
        return dict(found)

    def close(self) -> None:
        if self.application is not None:
            self.application.stop()


def _partitions(bootstrap: str, topic: str) -> int:
    from ottla.client.sync_admin import SyncAdmin

    with SyncAdmin({"bootstrap.servers": bootstrap}) as admin:
        cluster = admin.twin.cluster
        found = admin.thread.run(cluster.refresh([topic])).topics[topic]
    return 0 if found.error else len(found.partitions)
