"""Pure: what a coordinator's machine decides: records to append, and replies that wait for them.

A machine decides on its newest state. What it must remember for ever it says as records, and learns when they are
replayed; what may be forgotten in a crash (who waits, when a session ends) is soft state that it changes at once.
If the append fails the machine is discarded and loaded again, so nothing has to be rolled back. Records that the log
refuses before it writes anything, because one is too large, are the affair of those who asked for them alone: they are
told, and the decision says what becomes of the soft state that went ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ottla.base.errors import ApiError, ProtocolError

KeyValue: TypeAlias = tuple[bytes, bytes | None]
"""A record of the coordinator's own topic; no value is a tombstone."""

Token: TypeAlias = Callable[[Any], None]
"""Whoever asked; a machine keeps it, or puts it into a reply, and never calls it."""


class Transactional(NamedTuple):
    """The records belong to a producer's transaction and count when it commits."""

    producer_id: int
    producer_epoch: int


Undo: TypeAlias = "Callable[[ApiError, int], Decision]"


class Decision(NamedTuple):
    """What to append, all or nothing, and whom to answer what once it is committed.

    A reply is a value of the machine's own, or an ApiError. A token that is in no reply is parked in the machine.
    `undo` is asked, with the error and the time, when the records are refused. `replay`, if there is one, is called
    instead of the machine's own: it need not read what the machine has just written, and it must come to the same.
    """

    records: Sequence[KeyValue] = ()
    replies: Sequence[tuple[Token, Any]] = ()
    transactional: Transactional | None = None
    undo: Undo | None = None
    replay: Callable[[], None] | None = None


def refuse(token: Token, code: int, message: str = "") -> Decision:
    """Nothing changes, and the asker is told why."""
    return Decision(replies=((token, ApiError(code, message)),))


class UnknownRecord(ProtocolError):
    """A record of a kind that means nothing here: a newer broker's, or one for a feature that is not served."""


class Shard(Protocol):
    """The machine behind one partition of a coordinator's topic."""

    def replay(self, key: bytes, value: bytes | None, transactional: Transactional | None) -> None:
        """Take in a record that is in the log: the only way in which durable state changes.

        UnknownRecord or another ProtocolError when it cannot be read; the state is then as it was.
        """

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A producer's transaction has ended, and with it what it wrote here counts or is void."""

    def loaded(self, now_ms: int) -> None:
        """Everything in the log has been replayed; clocks of soft state start now."""

    def clock_was_set(self, by_ms: int, now_ms: int) -> None:
        """The time of day was set, to `now_ms`: deadlines of soft state are as far away as they were.

        What the log says in time of day stays as it is: when offsets were committed, when an id was last used.
        """

    def next_deadline_ms(self) -> int | None:
        """When `tick` has something to do."""

    def tick(self, now_ms: int) -> Decision:
        """Whatever is due: sessions that end, rebalances that complete, offsets that expire."""

    def waits_for_quiet(self) -> bool:
        """Whether something is due before its deadline if nobody asks for a while."""

    def quiet(self, now_ms: int) -> Decision:
        """Nobody has asked for a while: whatever has waited for that."""

    def parked(self) -> Sequence[Token]:
        """Everybody who waits here, to be told when this broker is no longer the coordinator."""
