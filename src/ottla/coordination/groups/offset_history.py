"""Pure: what became of each group's positions lately: who moved them, when, from where to where.

Kept in memory, bounded, and built by replay: after a restart the moves are those the log still tells, without the names
of who made them. Steps of one author that lead forward within a minute are one entry, so that the commits of a busy
consumer do not push out the reset that somebody wants to undo.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition

GROUPS: Final = 1_000
ENTRIES_PER_GROUP: Final = 64
MOVES_PER_GROUP: Final = 4_096
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


class Move(NamedTuple):
    """A position before and after; None where there was, or is, none."""

    before: int | None
    after: int | None


class Entry:
    """One act on the positions of a group, or several that belong together."""

    __slots__ = ("author", "commits", "first_ms", "last_ms", "moves")

    def __init__(self, author: Author, when_ms: int) -> None:
        self.author = author
        self.first_ms = self.last_ms = when_ms
        self.commits = 1
        self.moves: dict[TopicPartition, Move] = {}

    def __repr__(self) -> str:
        return f"Entry({self.author}, {self.first_ms}..{self.last_ms}, {self.moves})"

    def continues_with(self, when_ms: int, author: Author, tp: TopicPartition, move: Move) -> bool:
        """Whether a move is part of this act, or one more step of the same walk."""
        if author != self.author:
            return False
        if when_ms == self.last_ms and tp not in self.moves:
            return True
        return _is_forward(move) and when_ms - self.first_ms <= JOINED_WITHIN_MS


class OffsetHistory:
    """The last entries of the groups that were moved last."""

    __slots__ = ("_announced", "_entries", "_moves")

    def __init__(self) -> None:
        self._entries: dict[str, deque[Entry]] = {}
        self._moves: dict[str, int] = {}
        self._announced: tuple[str | None, int, Author] = None, 0, Author("")

    def of(self, group_id: str) -> tuple[Entry, ...]:
        """What is known of a group, the oldest first."""
        return tuple(self._entries.get(group_id, ()))

    def announce(self, group_id: str | None, when_ms: int, author: Author) -> None:
        """What is replayed next of this group, or with None of any, is this author's doing."""
        self._announced = group_id, when_ms, author

    def moved(
        self, group_id: str, tp: TopicPartition, move: Move, when_ms: int, author: Author
    ) -> None:
        """A position has moved; when and who are what the record tells, which is less than what was announced."""
        when_ms, author = self._told(group_id, when_ms, author)
        entries = self._entries.get(group_id)
        if entries and entries[-1].continues_with(when_ms, author, tp, move):
            self._join(group_id, entries[-1], when_ms, tp, move)
        else:
            entries = self._begin(group_id, Entry(author, when_ms))
            self._join(group_id, entries[-1], when_ms, tp, move)
        while len(entries) > 1 and (
            len(entries) > ENTRIES_PER_GROUP or self._moves[group_id] > MOVES_PER_GROUP
        ):
            self._moves[group_id] -= len(entries.popleft().moves)

    def _told(self, group_id: str, when_ms: int, author: Author) -> tuple[int, Author]:
        announced_group, announced_ms, announced = self._announced
        if announced_group not in (None, group_id):
            return when_ms, author
        if author.action == COMMIT:
            same = announced.action == COMMIT and announced_ms == when_ms
        else:
            # A tombstone does not say when it was written, nor why.
            same = author.action == DELETE and announced.action in (DELETE, EXPIRE, TOPIC_DELETED)
        return (announced_ms, announced) if same else (when_ms, author)

    def _begin(self, group_id: str, entry: Entry) -> deque[Entry]:
        """Add an entry; the group moves to the end of those that are to be forgotten."""
        entries = self._entries.pop(group_id, None)
        if entries is None:
            entries = deque()
            self._moves[group_id] = 0
        self._entries[group_id] = entries
        if len(self._entries) > GROUPS:
            oldest = next(iter(self._entries))
            del self._entries[oldest], self._moves[oldest]
        entries.append(entry)
        return entries

    def _join(
        self, group_id: str, entry: Entry, when_ms: int, tp: TopicPartition, move: Move
    ) -> None:
        if when_ms != entry.last_ms:
            entry.commits += 1
            entry.last_ms = when_ms
        earlier = entry.moves.get(tp)
        if earlier is None:
            self._moves[group_id] += 1
            entry.moves[tp] = move
        else:
            entry.moves[tp] = Move(earlier.before, move.after)


def _is_forward(move: Move) -> bool:
    return move.after is not None and (move.before is None or move.after >= move.before)
