"""Pure: what happened to each group lately: who came and went, why it rebalanced, and who owned what.

Kept in memory and bounded, for people who ask why; generations are also learned from the log when it is loaded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from ottla.coordination import metrics

EVENTS_PER_GROUP: Final = 64
GENERATIONS_PER_GROUP: Final = 16
SIZE: Final = 4_000
"""Of all groups of a coordinator's partition: an event is one, an owner is one, and more where names or assignments
are long: what clients say of themselves must not fill the memory."""
BYTES_PER_SIZE: Final = 256
DETAIL_CHARS: Final = 255
"""Kafka's clients send no longer reasons for joining or leaving (KIP-800); others may."""


class Event(NamedTuple):
    """One change.

    `what` is "joined", "left", "expired" or "replaced" of a member, "rebalance", "empty", "converted" (to the protocol
    that `detail` names) or "deleted" of the group.
    """

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
        self.events: deque[Event] = deque()
        self.generations: deque[Generation] = deque()


class History:
    """The recent past of the groups to which something happened last.

    It outlives the group, so that who asks what became of it is told; only what others did since pushes it out.
    """

    __slots__ = ("_groups", "_size")

    def __init__(self) -> None:
        self._groups: OrderedDict[str, _Past] = OrderedDict()
        self._size = 0

    def note(
        self, group_id: str, at_ms: int, what: str, member_id: str = "", detail: str = ""
    ) -> None:
        """Something happened to a group, which is counted too."""
        if what in metrics.MEMBER_CHANGES:
            metrics.MEMBER_CHANGES[what].value += 1
        elif what == "rebalance":
            metrics.GROUP_REBALANCES.value += 1
        events = self._past(group_id).events
        event = Event(at_ms, what, member_id, detail[:DETAIL_CHARS])
        events.append(event)
        self._size += _size_of_event(event)
        if len(events) > EVENTS_PER_GROUP:
            self._size -= _size_of_event(events.popleft())
        if self._size > SIZE:
            self._shrink()

    def assigned(self, group_id: str, generation: Generation) -> None:
        """A generation has got its assignment; a static member that came back replaces the same generation."""
        generations = self._past(group_id).generations
        if generations and generations[-1].generation == generation.generation:
            if generation.at_ms <= 0:
                return  # a classic group that becomes a consumer group: everybody keeps what it has
            self._size -= _size_of(generations.pop())
        generations.append(generation)
        self._size += _size_of(generation)
        if len(generations) > GENERATIONS_PER_GROUP:
            self._size -= _size_of(generations.popleft())
        if self._size > SIZE:
            self._shrink()

    def events(self, group_id: str) -> tuple[Event, ...]:
        """The oldest first."""
        past = self._groups.get(group_id)
        return () if past is None else tuple(past.events)

    def generations(self, group_id: str) -> tuple[Generation, ...]:
        """The oldest first."""
        past = self._groups.get(group_id)
        return () if past is None else tuple(past.generations)

    def _past(self, group_id: str) -> _Past:
        past = self._groups.get(group_id)
        if past is None:
            past = self._groups[group_id] = _Past()
            self._size += _size_of_name(group_id)
        else:
            self._groups.move_to_end(group_id)
        return past

    def _shrink(self) -> None:
        """Forget groups to which nothing happened for longest, then old generations of the one that is left."""
        while self._size > SIZE and len(self._groups) > 1:
            group_id, past = self._groups.popitem(last=False)
            self._size -= _size_of_name(group_id)
            self._size -= sum(map(_size_of_event, past.events))
            self._size -= sum(map(_size_of, past.generations))
        if self._size > SIZE:
            [last] = self._groups.values()
            while self._size > SIZE and len(last.generations) > 1:
                self._size -= _size_of(last.generations.popleft())


def _size_of_name(name: str) -> int:
    return len(name) // BYTES_PER_SIZE


def _size_of_event(event: Event) -> int:
    return 1 + _size_of_name(event.member_id)


def _size_of(generation: Generation) -> int:
    return 1 + sum(map(_size_of_owner, generation.owners))


def _size_of_owner(owner: Owner) -> int:
    names = len(owner.member_id) + len(owner.client_id) + len(owner.instance_id or "")
    return 1 + (names + len(owner.assignment)) // BYTES_PER_SIZE
