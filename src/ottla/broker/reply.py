"""What a handler gives back: buffers to write now, nothing, or a reply that comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from ottla.base.errors import OttlaError
from ottla.storage.fs import FileRegion

Buffer: TypeAlias = bytes | bytearray | memoryview
Piece: TypeAlias = Buffer | FileRegion
Buffers: TypeAlias = Buffer | list[Piece]


class CloseConnection(OttlaError):
    """The client broke the protocol, or asked for no answer: all that is left is to hang up."""


class Waiter(Protocol):
    """Who is told that a pending reply is there: the connection."""

    def resolved(self, pending: Pending) -> None:
        """`pending` has its buffers."""


class Pending:
    """A reply that comes later.

    While a blocking one is open, no request behind it on the connection starts: requests of one connection take effect
    in order. One that only waits (a long poll, replication) does not block, and its reply still leaves in its turn.

    Once it is settled it lets go of the operation that waits (`on_cancel`), which holds it: each long poll would else
    be a cycle, and the garbage collector would stop the loop for all connections to find it.
    """

    __slots__ = ("_waiter", "blocking", "buffers", "done", "on_cancel")

    def __init__(self, *, blocking: bool, on_cancel: Callable[[], None] | None = None) -> None:
        self.blocking = blocking
        self.on_cancel = on_cancel
        self.done = False
        self.buffers: Buffers | None = None
        self._waiter: Waiter | None = None

    def attach(self, waiter: Waiter) -> None:
        """Name the connection to tell."""
        self._waiter = waiter

    def resolve(self, buffers: Buffers | None) -> None:
        """Give the reply; None when there is none (acks=0)."""
        if self.done:
            return
        self.done = True
        self.on_cancel = None
        self.buffers = buffers
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.resolved(self)

    def unblock(self) -> None:
        """The effect of the request is in place and only a wait is left: let the next one start."""
        if self.blocking:
            self.blocking = False
            if self._waiter is not None:
                self._waiter.resolved(self)

    def cancel(self) -> None:
        """The connection is gone; nobody waits any more."""
        self.done = True
        self._waiter = None
        on_cancel, self.on_cancel = self.on_cancel, None
        if on_cancel is not None:
            on_cancel()


HELD: Final = Pending(blocking=True)
"""The reply of any request that is carried out at the end of this turn of the loop; nothing behind it starts before.

One for all, since there are many: whoever carries them out tells each connection its answer (`Connection.answer`).
"""

Reply: TypeAlias = Buffers | Pending | None
