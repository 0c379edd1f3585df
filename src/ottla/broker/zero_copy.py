"""Replies whose records never pass through this process: from the page cache to the socket inside the kernel.

Measured over loopback in 1 MB replies against reading and writing them: twice the throughput, a third of the CPU.
The event loop's transport knows nothing of it, so it is done only while the transport holds nothing back, and what
the socket does not take at once goes the ordinary way, in order.
"""

from __future__ import annotations

import asyncio
import os

from ottla.broker.reply import Buffer, Piece
from ottla.storage.fs import FileRegion

# Below this one system call for everything beats two without a copy.
_WORTHWHILE_BYTES = 32 * 1024


def write_pieces(transport: asyncio.Transport, socket_fd: int, pieces: list[Piece]) -> None:
    """Write a reply; regions of files, if they are large, straight from the page cache."""
    done, taken = 0, 0
    if socket_fd >= 0 and _has_large_region(pieces) and not transport.get_write_buffer_size():
        for piece in pieces:
            taken = _send(socket_fd, piece)
            if taken < len(piece):
                break
            done, taken = done + 1, 0
    if done < len(pieces):
        transport.writelines(_rest(pieces[done:], taken))


def in_memory(pieces: list[Piece]) -> list[Buffer]:
    """The reply with its regions read, for when its turn has not come: files may change until then."""
    return _rest(pieces, 0)


def _has_large_region(pieces: list[Piece]) -> bool:
    return any(isinstance(p, FileRegion) and len(p) >= _WORTHWHILE_BYTES for p in pieces)


def _send(socket_fd: int, piece: Piece) -> int:
    """How much the socket took; a broken one takes nothing, and the transport will find out."""
    try:
        if isinstance(piece, FileRegion):
            return piece.send_to(socket_fd)
        return os.write(socket_fd, piece)
    except (BlockingIOError, ConnectionError):
        return 0


def _rest(pieces: list[Piece], taken: int) -> list[Buffer]:
    rest: list[Buffer] = []
    for piece in pieces:
        if isinstance(piece, FileRegion):
            rest.append(piece.read(taken))
        else:
            rest.append(memoryview(piece)[taken:] if taken else piece)
        taken = 0
    return rest
