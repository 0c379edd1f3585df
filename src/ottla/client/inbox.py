"""Pure: cuts whole frames out of the bytes that a connection receives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

INBOX_BYTES: Final = 64 * 1024
_LENGTH: Final = Struct(">i")
_LENGTH_AND_ID: Final = Struct(">ii")


class Inbox:
    """Bytes that have arrived and are no whole frame yet.

    Small frames share one buffer, and leave it as copies. A large one gets a buffer of its own as
    soon as its length is known, so that the rest of it is received where it stays.
    """

    __slots__ = ("_filled", "_large", "_shared")

    def __init__(self, size_bytes: int = INBOX_BYTES) -> None:
        self._shared = bytearray(size_bytes)
        self._large: bytearray | None = None
        self._filled = 0

    def room(self) -> memoryview:
        """Where the next bytes go."""
        return memoryview(self._large or self._shared)[self._filled :]

    def seen(self) -> bytes:
        """What has arrived of the frame that is not whole."""
        return bytes(memoryview(self._large or self._shared)[: self._filled])

    def received(self, size_bytes: int, check: Callable[[int, int], None]) -> Iterator[memoryview]:
        """The frames, without their lengths, that are whole now that more bytes lie in `room`.

        `check` is called with the length and the first number of each frame before anything is made
        of it, and raises if they cannot be.
        """
        self._filled += size_bytes
        if self._large is None:
            yield from self._cut(check)
        elif self._filled == len(self._large):
            frame, self._large, self._filled = self._large, None, 0
            yield memoryview(frame)

    def _cut(self, check: Callable[[int, int], None]) -> Iterator[memoryview]:
        shared, pos, filled = self._shared, 0, self._filled
        while filled - pos >= _LENGTH_AND_ID.size:
            size, number = _LENGTH_AND_ID.unpack_from(shared, pos)
            check(size, number)
            start, end = pos + _LENGTH.size, pos + _LENGTH.size + size
            if end > filled:
                if end - pos > len(shared):
                    self._begin_large(size, shared[start:filled])
                    return
                break
            # A copy: the buffer is written over, while whoever asked may keep the answer.
            yield memoryview(bytes(memoryview(shared)[start:end]))
            pos = end
        # The transport still holds a view of the buffer: bytes move, but nothing is resized.
        shared[: filled - pos] = shared[pos:filled]
        self._filled = filled - pos

    def _begin_large(self, size: int, beginning: bytearray) -> None:
        self._large = bytearray(size)
        self._filled = len(beginning)
        self._large[: self._filled] = beginning
