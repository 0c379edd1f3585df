"""Streaming queries of `session()` tell what they do: their progress as Spark reports it, under the query's id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from ottla.pipeline.offsets import without_ids
from ottla.pipeline.progress_topic import ProgressTopic, progress_topic
from ottla.pipeline.query_options import execution_of, options_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

_LAST_WORD_S: Final = 5.0


class ProgressPublisher(StreamingQueryListener):
    """Publishes the last progress of each query with its state: started, running, idle, ended or failed.

    Where to: the cluster that the query itself reads or writes with format("ottla"), or the one named here.
    """

    def __init__(self, spark: SparkSession, bootstrap_servers: str | None = None) -> None:
        self._spark = spark
        self.bootstrap_servers = bootstrap_servers
        self._executions: dict[str, Any] = {}
        self._topics: dict[str, ProgressTopic] = {}
        self._last: dict[str, dict[str, Any]] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """A query begins."""
        # At its end, which may come before its last progress, a query is no longer to be found.
        self._executions[str(event.id)] = execution_of(self._spark, str(event.id))
        about = {"id": str(event.id), "runId": str(event.runId), "name": event.name}
        self._publish(str(event.id), "started", about | {"timestamp": event.timestamp})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """A batch is done."""
        told = json.loads(event.progress.json)
        for source in told["sources"]:
            for name in ("startOffset", "endOffset"):
                source[name] = without_ids(source[name])
        self._publish(str(event.progress.id), "running", told)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """There was nothing to read for a while."""
        self._publish(str(event.id), "idle", {"timestamp": event.timestamp})

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """A query ends."""
        state = "ended" if event.exception is None else "failed"
        self._publish(str(event.id), state, {"exception": event.exception}, wait_s=_LAST_WORD_S)
        for known in (self._executions, self._topics, self._last):
            known.pop(str(event.id), None)

    def _publish(
        self, query: str, state: str, news: Mapping[str, Any], *, wait_s: float = 0.0
    ) -> None:
        told = self._last[query] = {**self._last.get(query, {}), **news, "state": state}
        topic = self._topics.get(query) or self._found(query)
        if topic is not None:
            self._topics[query] = topic
            topic.tell(query, told, wait_s=wait_s)

    def _found(self, query: str) -> ProgressTopic | None:
        if self.bootstrap_servers is not None:
            return progress_topic({"bootstrap.servers": self.bootstrap_servers}, wanted=True)
        execution = self._executions.get(query)
        found = [] if execution is None else options_of(self._spark, execution)
        return progress_topic(found[0].client, found[0].publish_progress) if found else None
