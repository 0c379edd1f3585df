"""Pure: what became of each group's positions lately: who moved them, when, from where to where.

Kept in memory, bounded, and built by replay: after a restart the moves are those the log still tells, without the names
of who made them. Steps of one author that lead forward within a minute are one entry, and such entries are forgotten
before those that led back or deleted: the commits of a busy consumer do not push out the reset that somebody wants to
undo.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.coordination.groups.offset_records import OffsetKey

GROUPS: Final = 1_000
ENTRIES_PER_GROUP: Final = 64
MOVES_PER_GROUP: Final = 4_096
MOVES: Final = 16_384
"""Of all groups of a coordinator's partition."""
JOINED_WITHIN_MS: Final = 60_000

COMMIT: Final = "commit"
TRANSACTION: Final = "transaction"
DELETE: Final = "delete"
EXPIRE: Final = "expire"
TOPIC_DELETED: Final = "topic deleted"


class Author(NamedTuple):
    """What moved positions, one of the words above, and as far as it is known who."""

    action: str
    member_id: str = ""
    client_id: str = ""
    producer_id: int = -1


_SOMEBODY: Final = Author(DELETE)


@dataclass(slots=True)
class Move:
    """A position before and after; None where there was, or is, none."""

    before: int | None
    after: int | None

    @property
    def is_forward(self) -> bool:
        """Whether it is a step as consumers take them."""
        return self.after is not None and (self.before is None or self.after >= self.before)


class Entry:
    """One act on the positions of a group, or several that belong together."""

    __slots__ = ("author", "commits", "first_ms", "is_walk", "last_ms", "moves")

    def __init__(self, author: Author, when_ms: int) -> None:
        self.author = author
        # Nothing but steps forward, as consumers take them.
        self.is_walk = True
        self.first_ms = self.last_ms = when_ms
        self.commits = 1
        self.moves: dict[TopicPartition, Move] = {}

    def __repr__(self) -> str:
        return f"Entry({self.author}, {self.first_ms}..{self.last_ms}, {self.moves})"

    def goes_on(
        self, when_ms: int, author: Author, tp: TopicPartition, before: int | None, after: int
    ) -> bool:
        """Take in one more step of a walk that has come through the partition before; False if it is no such step.

        What nearly all commits are: it comes to the same as `continues_with` and `add`, in a third of the time.
        """
        earlier = self.moves.get(tp)
        if (
            earlier is None
            or (before is not None and after < before)
            or when_ms - self.first_ms > JOINED_WITHIN_MS
            or author != self.author
        ):
            return False
        if when_ms != self.last_ms:
            self.commits += 1
            self.last_ms = when_ms
        earlier.after = after
        return True

    def add(self, when_ms: int, tp: TopicPartition, move: Move) -> bool:
        """Take in a move; whether it is the first of its partition."""
        if when_ms != self.last_ms:
            self.commits += 1
            self.last_ms = when_ms
        self.is_walk = self.is_walk and move.is_forward
        earlier = self.moves.get(tp)
        if earlier is None:
            self.moves[tp] = move
            return True
        earlier.after = move.after
        return False

    def continues_with(self, when_ms: int, author: Author, tp: TopicPartition, move: Move) -> bool:
        """Whether a move is part of this act, or one more step of the same walk."""
        if author != self.author:
            return False
        if when_ms == self.last_ms and tp not in self.moves:
            return True
        return move.is_forward and when_ms - self.first_ms <= JOINED_WITHIN_MS


class OffsetHistory:
    """The last entries of the groups that were moved last."""

    __slots__ = ("_announced", "_entries", "_moves", "_total")

    def __init__(self) -> None:
        self._entries: dict[str, deque[Entry]] = {}
        # How many moves the entries of a group hold, and those of all groups.
        self._moves: dict[str, int] = {}
        self._total = 0
        self._announced: tuple[str | None, int, Author] | None = None

    def of(self, group_id: str) -> tuple[Entry, ...]:
        """What is known of a group, the oldest first."""
        return tuple(self._entries.get(group_id, ()))

    def deletes(self, group_id: str | None, when_ms: int, author: Author) -> None:
        """What is deleted next of this group, or with None of any, is this author's doing: a tombstone does not say."""
        self._announced = group_id, when_ms, author

    def deleted(self, at: OffsetKey, offset: int, committed_ms: int) -> None:
        """A position is gone; where nobody announced it, all that is known is that it was committed before."""
        when_ms, author = committed_ms, _SOMEBODY
        if self._announced is not None and self._announced[0] in (None, at.group_id):
            _, when_ms, author = self._announced
        tp = TopicPartition(at.topic, at.partition)
        self._add(at.group_id, tp, Move(offset, None), when_ms, author)

    def moved(
        self, at: OffsetKey, before: int | None, after: int, when_ms: int, author: Author
    ) -> None:
        """A position has moved."""
        group_id, topic, partition = at
        # Every commit comes here: the constructor of a named tuple would take half the time of all this.
        tp: TopicPartition = tuple.__new__(TopicPartition, (topic, partition))
        entries = self._entries.get(group_id)
        if not entries or not entries[-1].goes_on(when_ms, author, tp, before, after):
            self._add(group_id, tp, Move(before, after), when_ms, author)

    def _add(
        self, group_id: str, tp: TopicPartition, move: Move, when_ms: int, author: Author
    ) -> None:
        entries = self._entries.get(group_id)
        if not entries or not entries[-1].continues_with(when_ms, author, tp, move):
            entries = self._begin(group_id, Entry(author, when_ms))
        if entries[-1].add(when_ms, tp, move):
            self._moves[group_id] += 1
            self._total += 1
            self._shrink(group_id, entries)

    def _begin(self, group_id: str, entry: Entry) -> deque[Entry]:
        """Add an entry; the group moves to the end of those that are to be forgotten."""
        entries = self._entries.pop(group_id, None)
        if entries is None:
            entries = deque()
            self._moves[group_id] = 0
        self._entries[group_id] = entries
        entries.append(entry)
        return entries

    def _shrink(self, group_id: str, entries: deque[Entry]) -> None:
        while len(entries) > 1 and (
            len(entries) > ENTRIES_PER_GROUP or self._moves[group_id] > MOVES_PER_GROUP
        ):
            gone = next((each for each in entries if each.is_walk), entries[0])
            if gone is entries[-1]:
                gone = entries[0]
            entries.remove(gone)
            self._moves[group_id] -= len(gone.moves)
            self._total -= len(gone.moves)
        while len(self._entries) > 1 and (len(self._entries) > GROUPS or self._total > MOVES):
            oldest = next(iter(self._entries))
            if oldest == group_id:
                self._entries[group_id] = self._entries.pop(group_id)
            else:
                del self._entries[oldest]
                self._total -= self._moves.pop(oldest)
