"""The topics of an application: those it reads must be there, its own are made."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.base.errors import ApiError
from ottla.client.administration.topics import NewTopic
from ottla.client.sync_admin import SyncAdmin
from ottla.protocol.errors import ErrorCode
from ottla.streams.errors import StreamsError
from ottla.streams.spark.plan import Plan, Query
from ottla.streams.topology.processing import Repartition

_COMPACT = {"cleanup.policy": "compact"}
_WINDOWED = {"cleanup.policy": "compact,delete"}
_FOR_EVER = {"retention.ms": "-1"}
_RETENTION_SLACK_MS = 24 * 60 * 60 * 1000


class Topics:
    """Makes the topics of a plan, in a cluster that can be asked."""

    def __init__(self, plan: Plan, admin: SyncAdmin) -> None:
        self._plan = plan
        self._admin = admin

    def prepare(self) -> None:
        """Make internal topics; raise StreamsError if a topic is missing, or has another number of partitions."""
        plan = self._plan
        counts = self._partition_counts()
        self._check_sources(counts)
        for query in plan.queries:
            widest = self._widest(query, counts)
            for node in query.nodes:
                if isinstance(node, Repartition):
                    wanted = node.partitions or widest
                    self._make(node.topic_name(plan.application_id), wanted, _FOR_EVER, counts)
            for store in query.stores:
                topic = plan.changelog(store)
                if topic is not None:
                    config = dict(_COMPACT)
                    if store.retention_ms is not None and store.kind != "key-value":
                        retention_ms = store.retention_ms + _RETENTION_SLACK_MS
                        config = {**_WINDOWED, "retention.ms": str(retention_ms)}
                    self._make(topic, widest, config, counts)
        if plan.dead_letters is not None and plan.dead_letters not in counts:
            self._make(plan.dead_letters, 1, _FOR_EVER, counts)

    def _partition_counts(self) -> dict[str, int]:
        cluster = self._admin.twin.cluster
        view = self._admin.thread.run(cluster.retried(lambda: cluster.refresh(None)))
        return {
            name: len(topic.partitions) for name, topic in view.topics.items() if not topic.error
        }

    def _check_sources(self, counts: dict[str, int]) -> None:
        plan = self._plan
        own = {node.topic_name(plan.application_id) for node in plan.repartitions}
        wanted = {topic for query in plan.queries for topic in query.topics} - own
        # What another query writes is there once it has: it is made now, so that there is something to read.
        written = {n.topic for n in plan.topology.sinks if isinstance(n.topic, str)}
        for topic in sorted(wanted - counts.keys()):
            if topic in written:
                self._make(topic, 1, {}, counts)
            else:
                raise StreamsError(
                    f"the topic {topic} does not exist, which {plan.application_id} reads: create it (kafka-topics "
                    f"--create --topic {topic}), or check its name"
                )

    def _widest(self, query: Query, counts: Mapping[str, int]) -> int:
        found = [counts[topic] for topic in query.topics if topic in counts]
        if query.pattern is not None:
            names = [name for name in counts if any(True for _ in self._plan.readers(query, name))]
            found += [counts[name] for name in names]
        return max(found, default=1)

    def _make(
        self, topic: str, partitions: int, config: Mapping[str, str], counts: dict[str, int]
    ) -> None:
        there = counts.get(topic)
        if there is None:
            new = NewTopic(topic, partitions, configs=config)
            [outcome] = self._admin.create_topics([new]).values()
            if isinstance(outcome, ApiError) and outcome.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise outcome
            counts[topic] = partitions
        elif there < partitions:
            raise StreamsError(
                f"the internal topic {topic} has {there} partitions, but what is written to it comes from topics "
                f"with {partitions}: records would change their order. Reset the application (ottla streams "
                f"reset {self._plan.application_id}), or go back to the old number"
            )
