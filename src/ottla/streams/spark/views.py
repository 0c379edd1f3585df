"""Interactive queries: the contents of a store, read from its changelog."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from ottla.base.ids import TopicPartition
from ottla.client.consumer import Consumer
from ottla.streams.errors import StreamsError
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.stores import Store
from ottla.streams.windows import Windowed

_TIME_BYTES: Final = 8
_POLL_S: Final = 0.5


class StoreView:
    """The keys of a store with their values, as of the last committed batch that has been read.

    Every question first reads what the changelog has got since the last one. The view is held in memory: one
    that is new reads the changelog once. Keys of windows and sessions are `Windowed`.
    """

    def __init__(self, store: Store, topic: str, client: Mapping[str, str]) -> None:
        self.store = store
        self.topic = topic
        self._values: dict[tuple[bytes, int, int], bytes] = {}
        self._consumer = Consumer(
            {**client, "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
        )
        self.refreshed_ms = 0
        """When the view was level with its changelog, in milliseconds of the wall clock."""

    def get(self, key: Any) -> Any:
        """The value of a key, None if there is none."""
        self.refresh()
        data = self._values.get(self._place(key))
        return None if data is None else _serde(self.store.value_serde).deserialize(data)

    def all(self) -> list[tuple[Any, Any]]:
        """All keys with their values, in the order of the keys' bytes."""
        self.refresh()
        return self._found(sorted(self._values))

    def range(self, first: Any, last: Any) -> list[tuple[Any, Any]]:
        """The keys from the first to the last, both inclusive, in the order of their bytes."""
        self.refresh()
        low, high = self._place(first)[0], self._place(last)[0]
        return self._found(sorted(place for place in self._values if low <= place[0] <= high))

    def prefix(self, start: str | bytes) -> list[tuple[Any, Any]]:
        """The keys whose bytes begin so."""
        self.refresh()
        data = start.encode() if isinstance(start, str) else start
        return self._found(sorted(place for place in self._values if place[0].startswith(data)))

    def fetch(self, key: Any, from_ms: int = 0, to_ms: int | None = None) -> list[tuple[Any, Any]]:
        """The windows or sessions of a plain key that begin in a time, by start."""
        self.refresh()
        data = self._place(key)[0]
        return self._found(
            sorted(
                place
                for place in self._values
                if place[0] == data and from_ms <= place[1] and (to_ms is None or place[1] <= to_ms)
            )
        )

    def refresh(self) -> None:
        """Read the changelog to its end."""
        partitions = [
            TopicPartition(self.topic, number)
            for number in self._consumer.partitions_for(self.topic)
        ]
        if not partitions:
            return  # nothing was ever written
        if self._consumer.assignment() != frozenset(partitions):
            self._consumer.assign(partitions)
            self._values.clear()
            self._consumer.seek_to_beginning(*partitions)
        ends = self._consumer.end_offsets(partitions)
        while any(self._consumer.position(each) < end for each, end in ends.items()):
            for record in self._consumer.poll(_POLL_S):
                self._apply(record.key, record.value)
        self.refreshed_ms = int(time.time() * 1000)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _apply(self, key: bytes | None, value: bytes | None) -> None:
        if key is None:
            return
        place = self._place_of(bytes(key))
        if value is None:
            self._values.pop(place, None)
        else:
            self._values[place] = bytes(value)

    def _place_of(self, key: bytes) -> tuple[bytes, int, int]:
        if self.store.kind == "window":
            start = _time(key[-_TIME_BYTES:])
            return key[:-_TIME_BYTES], start, start + (self.store.window_size_ms or 0)
        if self.store.kind == "session":
            end, start = _time(key[-2 * _TIME_BYTES : -_TIME_BYTES]), _time(key[-_TIME_BYTES:])
            return key[: -2 * _TIME_BYTES], start, end
        return key, 0, 0

    def _place(self, key: Any) -> tuple[bytes, int, int]:
        serde = _serde(self.store.key_serde)
        if isinstance(key, Windowed):
            return serde.serialize(key.key), key.start_ms, key.end_ms
        return serde.serialize(key), 0, 0

    def _found(self, places: list[tuple[bytes, int, int]]) -> list[tuple[Any, Any]]:
        keys, values = _serde(self.store.key_serde), _serde(self.store.value_serde)
        windowed = self.store.kind != "key-value"
        found = []
        for place in places:
            key = keys.deserialize(place[0])
            found.append(
                (
                    Windowed(key, *place[1:]) if windowed else key,
                    values.deserialize(self._values[place]),
                )
            )
        return found


def _time(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _serde(serde: Serde | None) -> Serde:
    if serde is None:
        raise StreamsError("the store has no serde: give its operator one (key=, value=)")
    return serde
