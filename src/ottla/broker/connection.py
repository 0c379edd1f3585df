"""One client: bytes in, frames to dispatch, replies out in the order of the requests.

All connections receive into one shared buffer. The transport fills it and calls back at once, so a whole frame is
handled as a view into it with no copy; only a frame that is still incomplete moves to a buffer of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from time import perf_counter
from typing import Protocol, cast

from ottla.base.errors import LONGEST_MESSAGE, ProtocolError, StorageError
from ottla.base.log import logger
from ottla.broker.frames import LENGTH_BYTES, PartialFrame, frame_size, is_fetch
from ottla.broker.reply import HELD, Buffers, CloseConnection, Pending, Piece, Reply
from ottla.broker.zero_copy import Stream, in_memory, is_worthwhile, send_now

log = logger(__name__)

_numbers = count(1)

# Replies that may be outstanding before the connection is no longer read: far above any client's in-flight limit.
_MAX_OUTSTANDING = 1000
# What is left to write to a client that is being hung up on; one that reads nothing must not be kept for ever.
_LINGER_SECONDS = 10

# Replies up to this size, but for the first of each turn of the loop, are sent together when all that has arrived is
# handled: each send wakes a client, and that cost a fifth of the broker's time with 50 of them.
_SMALL_REPLY_BYTES = 4096


class Registry(Protocol):
    """Where connections are counted: the listener they came in by."""

    def opened(self, connection: Connection) -> bool:
        """Whether there is room for one more."""

    def closed(self, connection: Connection) -> None:
        """It is gone."""

    def flush_soon(self, connection: Connection) -> bool:
        """Have it send its small replies when all that has arrived is handled; False: send this one now."""


class Connection(asyncio.BufferedProtocol):
    """A client's connection."""

    __slots__ = (
        "_blocked",
        "_dispatch",
        "_held",
        "_outgoing",
        "_partial",
        "_reading",
        "_registry",
        "_request_limit",
        "_shared",
        "_slots",
        "_socket_fd",
        "_stream",
        "_transport",
        "_waits_for_turn",
        "_write_paused",
        "host",
        "last_active",
        "listener",
        "number",
        "peer",
    )

    def __init__(
        self,
        dispatch: Callable[[Connection, memoryview], Reply],
        registry: Registry,
        receive_buffer: memoryview,
        request_limit: int,
        listener: str,
    ) -> None:
        self._dispatch = dispatch
        self._registry = registry
        self._shared = receive_buffer
        self._request_limit = request_limit
        self._partial: PartialFrame | None = None
        self._held: bytearray | None = None
        self._slots: deque[Pending] = deque()
        self._blocked = False
        # A fetch that came while replies before it are outstanding: read now, its records would wait in memory.
        self._waits_for_turn = False
        self._reading = True
        self._write_paused = False
        self._transport: asyncio.Transport | None = None
        self._socket_fd = -1
        self._stream: Stream | None = None
        self._outgoing = bytearray()
        self.listener = listener
        # Of two connections, the one that was opened later has the higher one.
        self.number = next(_numbers)
        self.host = ""
        self.last_active = 0.0
        # The broker at the other end, once it has introduced itself.
        self.peer = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, or hang up when there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        self._socket_fd = transport.get_extra_info("socket").fileno()
        peer = transport.get_extra_info("peername")
        self.host = peer[0] if peer else "unknown"
        if not self._registry.opened(self):
            self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything that waits for this client."""
        self._transport = None
        self._partial = self._held = None
        self._end_stream()
        self._registry.closed(self)
        slots, self._slots = self._slots, deque()
        for pending in slots:
            if not pending.done:
                pending.cancel()

    def get_buffer(self, sizehint: int) -> memoryview:
        """The shared buffer, or the rest of the frame under way."""
        return self._shared if self._partial is None else self._partial.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Handle what arrived; the views into the buffer die with this call."""
        try:
            if self._partial is None:
                self._feed(self._shared, nbytes)
            else:
                self.last_active = perf_counter()
                partial = self._partial
                frame = partial.received(nbytes)
                if frame is not None:
                    self._partial = None
                    if self._slots and is_fetch(frame, 0, len(frame)):
                        self._put_off()
                        self._hold(memoryview(partial.hold()))
                    else:
                        self._take(self._dispatch(self, frame))
        except (ProtocolError, CloseConnection) as why:
            self.refuse(why)

    def eof_received(self) -> bool:
        """A client that closed its side gets nothing more."""
        return False

    def _feed(self, data: memoryview, end: int) -> None:
        """Handle every whole frame in `data` up to `end`, and keep what is left."""
        pos = 0
        limit = self._request_limit
        while end - pos >= LENGTH_BYTES and not (self._blocked or self._write_paused):
            begin = pos + LENGTH_BYTES
            stop = begin + frame_size(data, pos, limit)
            if stop > end:
                break
            if self._slots and is_fetch(data, begin, stop):
                self._put_off()
                break
            self._take(self._dispatch(self, data[begin:stop]))
            pos = stop
        if pos == end or self._transport is None:
            return
        if self._blocked or self._write_paused:
            self._hold(data[pos:end])
        else:
            self._partial = PartialFrame(data[pos:end], limit)

    def _put_off(self) -> None:
        """Start no fetch before the replies in front of it are out: there may be a long poll among them."""
        self._waits_for_turn = self._blocked = True

    def _take(self, reply: Reply) -> None:
        """What the request that was started last is answered, as far as it is known."""
        if reply is None:
            return
        if isinstance(reply, Pending):
            if reply is HELD:
                self._hold_back()
            elif self._slots or not reply.done:
                self._queue(reply)
            else:
                self._write(reply.buffers)
        elif self._slots:
            self._queue(_answered(reply))
        else:
            self._write(reply)

    def _hold_back(self) -> None:
        """Start nothing behind the last request, which is carried out at the end of this turn of the loop."""
        self._blocked = True
        if self._slots:
            # Those before it may be answered meanwhile; its own answer has no place yet if it is the only one.
            self._slots.append(Pending(blocking=True))

    def answer(self, reply: Reply) -> None:
        """What the request that held the others back is answered: they go on."""
        if self._transport is None:
            return
        if self._slots:
            self._slots.pop()
        self._blocked = False
        if isinstance(reply, bytearray) and not (self._slots or self._outgoing or self._stream):
            # The turn is over: nothing is to come that could be sent with it.
            self._transport.write(reply)
        else:
            self._take(reply)
        if self._held is not None:
            self._drain()

    def _queue(self, reply: Pending) -> None:
        """Take in a reply that is not there yet, or whose turn has not come."""
        self._slots.append(reply)
        if reply.done:
            self._keep(reply)
        else:
            reply.attach(self)
        self._blocked = self._must_wait()

    def _must_wait(self) -> bool:
        """Whether the next request may not start yet; nothing starts behind one that blocks, so that is the last."""
        slots = self._slots
        return bool(slots) and (
            (slots[-1].blocking and not slots[-1].done)
            or self._waits_for_turn
            or len(slots) >= _MAX_OUTSTANDING
        )

    def resolved(self, pending: Pending) -> None:
        """A reply is there, or no longer holds up the requests behind it."""
        if self._transport is None:
            return
        while self._slots and self._slots[0].done:
            first = self._slots.popleft()
            buffers, first.buffers = first.buffers, None
            self._write(buffers)
        self._keep(pending)
        if not self._slots:
            self._waits_for_turn = False
        self._blocked = self._must_wait()
        self._drain()

    def _write(self, buffers: Buffers | None) -> None:
        if buffers is None or self._transport is None:
            return
        if self._stream is not None:
            self._write_pieces(buffers if isinstance(buffers, list) else [buffers])
        elif isinstance(buffers, list):
            self.flush()
            self._write_pieces(buffers)
        elif len(buffers) > _SMALL_REPLY_BYTES:
            self.flush()
            self._transport.write(buffers)
        else:
            if self._outgoing or self._registry.flush_soon(self):
                self._outgoing += buffers
            else:
                self._transport.write(buffers)

    def flush(self) -> None:
        """Send the small replies that have gathered."""
        if self._outgoing and self._transport is not None:
            outgoing, self._outgoing = self._outgoing, bytearray()
            self._transport.write(outgoing)

    def _write_pieces(self, pieces: list[Piece]) -> None:
        """Write a reply; large regions of files straight from the page cache, if nothing is before them."""
        transport = self._transport
        if transport is None:
            return
        try:
            if self._stream is not None:
                self._stream.append(pieces)
            elif self._may_bypass(transport) and is_worthwhile(pieces):
                self._stream_rest(send_now(self._socket_fd, pieces))
            else:
                transport.writelines(in_memory(pieces))
        except (StorageError, OSError) as failure:
            self._break_off(failure)

    def _may_bypass(self, transport: asyncio.Transport) -> bool:
        """Whether bytes may go past the transport: to a plain socket, for which it holds nothing back."""
        return self._socket_fd >= 0 and not transport.get_write_buffer_size()

    def _stream_rest(self, rest: list[Piece]) -> None:
        """Have the rest of a reply follow as the client reads; no request starts until it is out."""
        if rest:
            self._write_paused = True
            self._stream = Stream(self._socket_fd, rest, self._streamed)

    def _streamed(self, failure: Exception | None) -> None:
        self._stream = None
        if failure is not None:
            self._break_off(failure)
        else:
            self.resume_writing()

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _break_off(self, failure: Exception) -> None:
        """Half a reply may be out: nothing that follows would be understood."""
        log.warning("reply not written", client=self.host, reason=str(failure))
        self.abort()

    def _keep(self, answered: Pending) -> None:
        """Hold a reply whose turn has not come; what it says of files would be wrong by then."""
        if isinstance(answered.buffers, list):
            try:
                answered.buffers = list(in_memory(answered.buffers))
            except (StorageError, OSError) as failure:
                log.warning("reply not read", client=self.host, reason=str(failure))
                self.abort()

    def pause_writing(self) -> None:
        """The client reads slower than it asks: start no request until it has caught up."""
        self._write_paused = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._write_paused = False
        self._drain()

    def _hold(self, rest: memoryview) -> None:
        self._held = bytearray(rest)
        if self._reading and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()

    def _drain(self) -> None:
        """Go on with the frames that were held, then with the socket."""
        if self._blocked or self._write_paused or self._transport is None:
            return
        held, self._held = self._held, None
        if held is not None:
            try:
                self._feed(memoryview(held), len(held))
            except (ProtocolError, CloseConnection) as why:
                self.refuse(why)
        self._read_on()

    def _read_on(self) -> None:
        """Read from the socket again, unless there is still something to go on with."""
        if self._held is None and not self._reading and self._transport is not None:
            self._reading = True
            self._transport.resume_reading()

    def refuse(self, why: Exception) -> None:
        """Hang up on a client that broke the protocol, or that there is nothing to say to."""
        log.warning("connection closed", client=self.host, reason=str(why)[:LONGEST_MESSAGE])
        self._close()

    def _close(self) -> None:
        self.flush()
        self._end_stream()
        transport, self._transport = self._transport, None
        self._partial = self._held = None
        if transport is not None:
            transport.close()
            if transport.get_write_buffer_size():
                asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)

    def abort(self) -> None:
        """Hang up now, whatever is still to be written."""
        self._end_stream()
        if self._transport is not None:
            self._transport.abort()

    def expire(self) -> bool:
        """Hang up on a client that was silent for too long, whatever it waits for, as Kafka does; if it was open."""
        was_open = self._transport is not None
        self._close()
        return was_open


def _answered(reply: Buffers) -> Pending:
    """A reply that is there but whose turn has not come."""
    pending = Pending(blocking=False)
    pending.done = True
    pending.buffers = reply
    return pending
