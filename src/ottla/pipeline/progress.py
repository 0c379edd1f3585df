"""Streaming queries tell what they do in the compacted topic `__ottla_pipelines`, one key for each query."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from ottla.base.errors import ApiError, OttlaError
from ottla.client.administration.topics import NewTopic
from ottla.client.producer import Producer
from ottla.client.sync_admin import SyncAdmin
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

PIPELINES_TOPIC: Final = "__ottla_pipelines"
_LONGEST_MS: Final = 10_000


class ProgressPublisher(StreamingQueryListener):
    """Publishes the last progress of each query with its state: started, running, idle, ended or failed.

    Spark calls it beside the queries: brokers that cannot be reached draw a warning and hold up none.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap = bootstrap_servers
        self._producer: Producer | None = None
        self._last: dict[str, dict[str, Any]] = {}
        self._warned = False

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """A query begins."""
        about = {"id": str(event.id), "runId": str(event.runId), "name": event.name}
        self._publish(str(event.id), "started", about | {"timestamp": event.timestamp})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """A batch is done."""
        self._publish(str(event.progress.id), "running", json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """There was nothing to read for a while."""
        self._publish(str(event.id), "idle", {"timestamp": event.timestamp})

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """A query ends."""
        state = "ended" if event.exception is None else "failed"
        self._publish(str(event.id), state, {"exception": event.exception}, flush=True)
        self._last.pop(str(event.id), None)

    def _publish(
        self, query: str, state: str, news: dict[str, Any], *, flush: bool = False
    ) -> None:
        told = self._last[query] = {**self._last.get(query, {}), **news, "state": state}
        try:
            if self._producer is None:
                self._producer = self._connected()
            self._producer.send(PIPELINES_TOPIC, json.dumps(told).encode(), key=query.encode())
            if flush:
                self._producer.flush()
        except OttlaError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"progress could not be published to {self._bootstrap}: {error}", stacklevel=2
                )

    def _connected(self) -> Producer:
        topic = NewTopic(PIPELINES_TOPIC, partitions=1, configs={"cleanup.policy": "compact"})
        with SyncAdmin({"bootstrap.servers": self._bootstrap}) as admin:
            [made] = admin.create_topics([topic]).values()
        if isinstance(made, ApiError) and made.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise made
        return Producer({"bootstrap.servers": self._bootstrap}, max_block_ms=_LONGEST_MS)
