"""Pure: what happened to each group lately: who came and went, why it rebalanced, and who owned what.

Kept in memory and bounded, for people who ask why; generations are also learned from the log when it is loaded.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

EVENTS_PER_GROUP: Final = 64
GENERATIONS_PER_GROUP: Final = 16


class Event(NamedTuple):
    """One change: `what` is "joined", "left", "expired", "replaced", "rebalance" or "empty"."""

    at_ms: int
    what: str
    member_id: str
    detail: str


class Owner(NamedTuple):
    """A member and what it was given, in the bytes of its protocol."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assignment: bytes


class Generation(NamedTuple):
    """Who owned what, from when on."""

    at_ms: int
    generation: int
    protocol_type: str
    protocol: str
    owners: tuple[Owner, ...]


class _Past:
    __slots__ = ("events", "generations")

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=EVENTS_PER_GROUP)
        self.generations: deque[Generation] = deque(maxlen=GENERATIONS_PER_GROUP)


class History:
    """The recent past of every group, forgotten with the group."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, _Past] = {}

    def note(
        self, group_id: str, at_ms: int, what: str, member_id: str = "", detail: str = ""
    ) -> None:
        """Something happened to a group."""
        self._past(group_id).events.append(Event(at_ms, what, member_id, detail))

    def assigned(self, group_id: str, generation: Generation) -> None:
        """A generation has got its assignment; a static member that came back replaces the same generation."""
        generations = self._past(group_id).generations
        if generations and generations[-1].generation == generation.generation:
            generations.pop()
        generations.append(generation)

    def events(self, group_id: str) -> tuple[Event, ...]:
        """The oldest first."""
        past = self._groups.get(group_id)
        return () if past is None else tuple(past.events)

    def generations(self, group_id: str) -> tuple[Generation, ...]:
        """The oldest first."""
        past = self._groups.get(group_id)
        return () if past is None else tuple(past.generations)

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._groups.pop(group_id, None)

    def _past(self, group_id: str) -> _Past:
        past = self._groups.get(group_id)
        if past is None:
            past = self._groups[group_id] = _Past()
        return past
