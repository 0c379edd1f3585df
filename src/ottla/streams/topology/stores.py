"""Pure: state stores, as the topology knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ottla.streams.serdes.serde import Serde

StoreKind = Literal["key-value", "window", "session", "join", "suppress", "foreign-key"]


@dataclass(frozen=True)
class Store:
    """State of one or more operators.

    `key-value`, `window` and `session` stores can be queried if the user named them (`queryable`). `join`,
    `suppress` and `foreign-key` stores belong to their operator alone.
    """

    name: str
    kind: StoreKind
    key_serde: Serde | None = None
    value_serde: Serde | None = None
    queryable: bool = False
    retention_ms: int | None = None
    """Windows and sessions: how long after its start a window can still be read; None keeps for ever."""
    window_size_ms: int | None = None

    def changelog(self, application_id: str) -> str:
        """The compacted topic that holds the store's contents."""
        return f"{application_id}-{self.name}-changelog"
