"""Pure: a frame of which only a part has arrived, kept in a buffer that grows with the bytes received.

Memory follows what was sent, never what was claimed: a client that announces 100 MB and sends 10 bytes costs 4 KB.
"""

from __future__ import annotations

from struct import Struct

from ottla.base.errors import ProtocolError
from ottla.protocol.api_keys import ApiKey

LENGTH = Struct(">i")
LENGTH_BYTES = LENGTH.size
_FIRST_CAPACITY = 4096
_FETCH = int(ApiKey.FETCH)


class PartialFrame:
    """One frame under way; from its first byte until it is whole, or refused."""

    __slots__ = ("_buffer", "_filled", "_need", "_size_limit", "_view")

    def __init__(self, start: memoryview, size_limit: int) -> None:
        self._size_limit = size_limit
        self._filled = len(start)
        self._need = LENGTH_BYTES
        if self._filled >= LENGTH_BYTES:
            self._need += frame_size(start, 0, size_limit)
        self._buffer = bytearray(self._capacity(self._filled))
        self._view = memoryview(self._buffer)
        self._view[: self._filled] = start

    def _capacity(self, filled: int) -> int:
        return min(self._need, max(_FIRST_CAPACITY, 2 * filled))

    def room(self) -> memoryview:
        """Where the next bytes of this frame go; never reaches into the frame behind it."""
        if self._filled == len(self._buffer):
            # A new buffer, not a resize: an earlier view may still be exported to the transport.
            grown = bytearray(self._capacity(self._filled))
            view = memoryview(grown)
            view[: self._filled] = self._view
            self._buffer, self._view = grown, view
        return self._view[self._filled : self._need]

    def hold(self) -> bytearray:
        """The whole frame with its length, once it is there."""
        return bytearray(self._view[: self._need])

    def received(self, count: int) -> memoryview | None:
        """Note `count` new bytes; the frame's body once it is whole."""
        self._filled += count
        if self._filled < self._need:
            return None
        if self._need == LENGTH_BYTES:
            self._need += frame_size(self._view, 0, self._size_limit)
            if self._need > LENGTH_BYTES:
                return None
        return self._view[LENGTH_BYTES : self._need]


def is_fetch(buf: memoryview, begin: int, stop: int) -> bool:
    """Return whether a frame's body is a Fetch, by its first two bytes."""
    return stop - begin > 1 and buf[begin] == 0 and buf[begin + 1] == _FETCH


def frame_size(buf: memoryview, pos: int, size_limit: int) -> int:
    """The length a frame claims, refused unless 0 <= length <= limit."""
    size: int = LENGTH.unpack_from(buf, pos)[0]
    if not 0 <= size <= size_limit:
        raise ProtocolError(
            f"a request claims {size} bytes; socket.request.max.bytes allows {size_limit}"
        )
    return size
