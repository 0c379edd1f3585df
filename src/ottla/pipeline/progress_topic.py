"""The compacted topic `__ottla_pipelines`, in which streaming queries tell what they do, one key for each.

A thread of its own connects and writes: a query never waits for it, and never fails because of it. Apache Kafka has no
such topic, and gets none unasked.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from queue import Full, Queue
from typing import Any, Final

from pyspark import SparkFiles

from ottla.base.errors import ApiError
from ottla.base.log import logger
from ottla.client.administration.topics import NewTopic
from ottla.client.producer import Producer
from ottla.client.settings import ClientSettings, is_known
from ottla.client.sync_admin import SyncAdmin
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

PIPELINES_TOPIC: Final = "__ottla_pipelines"
_MOST_WAITING: Final = 100
_LONGEST_MS: Final = 10_000
_AFTER_FAILURE_S: Final = 10.0


class ProgressTopic:
    """The topic of one cluster; what cannot be written there is dropped, with one warning."""

    def __init__(self, client: Mapping[str, str], *, on_kafka: bool) -> None:
        self._client = {name: text for name, text in client.items() if _is_common(name)}
        self._on_kafka = on_kafka
        self._waiting: Queue[tuple[str, bytes, threading.Event]] = Queue(_MOST_WAITING)
        self._producer: Producer | None = None
        self._unwanted = False
        self._warned = False
        self._retry_at = 0.0
        threading.Thread(target=self._work, name="ottla-progress", daemon=True).start()

    def tell(self, key: str, news: Mapping[str, Any], *, wait_s: float = 0.0) -> None:
        """Publish the state of a query; `wait_s` is for the last word of one, before its process may end."""
        written = threading.Event()
        try:
            self._waiting.put_nowait((key, json.dumps(news).encode(), written))
        except Full:
            return
        if wait_s:
            written.wait(wait_s)

    def _work(self) -> None:
        while True:
            key, value, written = self._waiting.get()
            if not self._unwanted and time.monotonic() >= self._retry_at:
                self._write(key, value)
            written.set()

    def _write(self, key: str, value: bytes) -> None:
        try:
            if self._producer is None:
                self._producer = self._connected()
            if self._producer is not None:
                self._producer.send(PIPELINES_TOPIC, value, key=key.encode()).result()
        except Exception as error:
            # Of whatever kind, such as too many open files: somebody may wait for this thread.
            self._retry_at = time.monotonic() + _AFTER_FAILURE_S
            self._complain(error)

    def _connected(self) -> Producer | None:
        topic = NewTopic(PIPELINES_TOPIC, partitions=1, configs={"cleanup.policy": "compact"})
        with SyncAdmin(self._client) as admin:
            connection = admin.thread.run(admin.twin.cluster.connection())
            if not (self._on_kafka or connection.serves(ApiKey.OPEN_SINK)):
                self._unwanted = True
                return None
            [made] = admin.try_to_create_topics([topic]).values()
        if isinstance(made, ApiError) and made.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise made
        return Producer(self._client, max_block_ms=_LONGEST_MS)

    def _complain(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            where = self._client["bootstrap.servers"]
            log.warning(
                f"progress could not be published in {PIPELINES_TOPIC} at {where}; the query is not "
                "affected, and publishProgress=false says that none is wanted",
                why=error,
            )


_topics: Final[dict[tuple[Any, ...], ProgressTopic]] = {}


def progress_topic(client: Mapping[str, str], wanted: bool | None) -> ProgressTopic | None:
    """The topic of a cluster, one for each process; None where it is not wanted.

    `wanted` is the option publishProgress: true publishes to Apache Kafka, too.
    """
    if wanted is False:
        return None
    key = (os.getpid(), wanted, *sorted(client.items()))
    if key not in _topics:
        _topics[key] = ProgressTopic(client, on_kafka=wanted is True)
    return _topics[key]


def tell_for_sources() -> None:
    """In a driver: sources are not to tell of themselves; somebody who knows their queries does, or nobody shall."""
    _mark().touch()


def told_by_driver() -> bool:
    """In the process of a source: whether its driver has taken the telling upon itself."""
    return _mark().exists()


def _mark() -> Path:
    # The one place that a driver and the processes of its sources are both told of, however the driver was started.
    return Path(SparkFiles.getRootDirectory(), "ottla-progress")


def _is_common(name: str) -> bool:
    return is_known(ClientSettings, name)
