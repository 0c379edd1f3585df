"""Pure: state stores of the test driver: bytes inside, as everywhere, so that what a serde loses is lost here too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.stores import Store
from ottla.streams.windows import Windowed


@dataclass(frozen=True)
class Entry:
    """What a store has of a key: a value, the timestamp it carries, and accumulators of expressions."""

    value: Any
    timestamp_ms: int
    state: Any = None


@dataclass(frozen=True)
class _Kept:
    data: bytes
    timestamp_ms: int
    state: Any


class State:
    """Entries by key; keys of windows and sessions are `Windowed`. Sorted by the key's bytes, then by window."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._entries: dict[tuple[bytes, int, int], _Kept] = {}

    def get(self, key: Any) -> Entry | None:
        """Return the entry of a key."""
        kept = self._entries.get(self._place(key))
        return None if kept is None else self._read(kept)

    def put(self, key: Any, entry: Entry | None) -> None:
        """Set the entry of a key; None, or a null value, deletes it."""
        place = self._place(key)
        if entry is None or entry.value is None:
            self._entries.pop(place, None)
        else:
            data = _serde(self.store.value_serde).serialize(entry.value)
            self._entries[place] = _Kept(data, entry.timestamp_ms, entry.state)

    def of_key(self, key: Any) -> list[tuple[Windowed, Entry]]:
        """The windows or sessions of a plain key, by start."""
        data = _serde(self.store.key_serde).serialize(key)
        places = sorted(place for place in self._entries if place[0] == data)
        return [(Windowed(key, *place[1:]), self._read(self._entries[place])) for place in places]

    def items(self) -> Iterator[tuple[Any, Entry]]:
        """All entries, in order."""
        for place, kept in sorted(self._entries.items()):
            yield self._key(place), self._read(kept)

    def key_bytes(self, key: Any) -> bytes:
        """The bytes of a plain key."""
        return _serde(self.store.key_serde).serialize(key)

    def _place(self, key: Any) -> tuple[bytes, int, int]:
        serde = _serde(self.store.key_serde)
        if isinstance(key, Windowed):
            return serde.serialize(key.key), key.start_ms, key.end_ms
        return serde.serialize(key), 0, 0

    def _key(self, place: tuple[bytes, int, int]) -> Any:
        key = _serde(self.store.key_serde).deserialize(place[0])
        return key if self.store.kind == "key-value" else Windowed(key, *place[1:])

    def _read(self, kept: _Kept) -> Entry:
        value = _serde(self.store.value_serde).deserialize(kept.data)
        return Entry(value, kept.timestamp_ms, kept.state)


def _serde(serde: Serde | None) -> Serde:
    if serde is None:
        raise ValueError("the store has no serde")
    return serde
