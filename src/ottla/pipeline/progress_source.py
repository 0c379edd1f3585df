"""What the source of a stream tells by itself: offsets, in the name of its group, from any Spark session.

A source does not know its query; `session()` does, and tells more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import to_json
from ottla.pipeline.progress_topic import ProgressTopic

_BUSY_EVERY_S: Final = 1.0
_IDLE_EVERY_S: Final = 30.0
"""A stream that says nothing for longer than this has ended: nobody tells its source of that in time."""


class SourceProgress:
    """Publishes how far a stream has read, now and then."""

    def __init__(self, topic: ProgressTopic | None, group_id: str) -> None:
        self._topic = topic
        self._group_id = group_id
        self._state = ""
        self._next = 0.0

    def offer(
        self,
        processed: Mapping[TopicPartition, int],
        end: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
    ) -> None:
        """Tell of the batch from `processed` to `end`, if it is time to."""
        state = "idle" if end == processed else "running"
        now = time.monotonic()
        if self._topic is None or (state == self._state == "idle" and now < self._next):
            return
        if state == "running" and now < self._next and self._state == "running":
            return
        self._next = now + (_IDLE_EVERY_S if state == "idle" else _BUSY_EVERY_S)
        self._state = state
        offsets = {"startOffset": processed, "endOffset": end, "latestOffset": latest}
        source = {name: to_json(each) for name, each in offsets.items()}
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        about = {"id": self._group_id, "group": self._group_id, "name": None}
        self._topic.tell(
            self._group_id, {**about, "timestamp": moment, "state": state, "sources": [source]}
        )
