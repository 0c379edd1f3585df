"""What became of a record: a handle that can be waited for, awaited or given a callback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias

from ottla.base.ids import TopicPartition
from ottla.base.log import logger

log = logger(__name__)

Callback: TypeAlias = Callable[["RecordMetadata | None", "Exception | None"], Any]
"""Called with where the record is, or with why it is nowhere."""

# Guards the lists of waiters: a thread may begin to wait while the loop's thread has the answer.
_waiters_lock = threading.Lock()


class RecordMetadata(NamedTuple):
    """Where a record was written; the offset is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class Outcome:
    """What became of a batch: many handles share it, since a batch is written whole or not at all.

    Unless a broker found it too large: then it was sent in two parts, each with an outcome of its own.
    """

    __slots__ = (
        "_callbacks",
        "_parts",
        "_waiters",
        "base_offset",
        "done",
        "error",
        "log_append_ms",
        "target",
    )

    def __init__(self, target: TopicPartition) -> None:
        self.target = target
        self.done = False
        self.base_offset = -1
        self.log_append_ms = -1
        self.error: Exception | None = None
        self._parts: tuple[int, Outcome, Outcome] | None = None
        self._waiters: list[Callable[[], None]] = []
        self._callbacks: list[tuple[Delivery, Callback]] = []

    def call_back(self, delivery: Delivery, callback: Callback) -> None:
        """Call this when the batch is done."""
        self._callbacks.append((delivery, callback))

    def wait(self, wake: Callable[[], None]) -> None:
        """Call `wake` when the batch is done, at once if it is."""
        with _waiters_lock:
            if not self.done:
                self._waiters.append(wake)
                return
        wake()

    async def settled(self) -> None:
        """Wait until the batch is done, well or badly."""
        if not self.done:
            future = asyncio.get_running_loop().create_future()
            self.wait(lambda: _set(future))
            await future

    def split(self, first_count: int) -> tuple[Outcome, Outcome]:
        """The outcomes of two parts, the first of which has so many records."""
        first, second = Outcome(self.target), Outcome(self.target)
        self._parts = (first_count, first, second)
        first.wait(lambda: second.wait(self._finish))
        return first, second

    def part(self, index: int) -> tuple[Outcome, int]:
        """The outcome that decides about a record of the batch, and its place there."""
        if self._parts is None:
            return self, index
        first_count, first, second = self._parts
        return first.part(index) if index < first_count else second.part(index - first_count)

    def failure(self) -> Exception | None:
        """Why the batch, or a part of it, was not written, once it is done."""
        if self._parts is None:
            return self.error
        _, first, second = self._parts
        return first.failure() or second.failure()

    def resolve(self, base_offset: int, log_append_ms: int, error: Exception | None) -> None:
        """The broker's word, or the reason why there is none; in the thread of the loop."""
        self.base_offset, self.log_append_ms, self.error = base_offset, log_append_ms, error
        self._finish()

    def _finish(self) -> None:
        with _waiters_lock:
            self.done = True
            waiters, self._waiters = self._waiters, []
        for delivery, callback in self._callbacks:
            try:
                callback(*delivery.outcome())
            except Exception:
                # Somebody else's mistake must not keep the other records of the batch from being told.
                log.exception("a delivery callback failed", partition=str(self.target))
        for wake in waiters:
            wake()


class Delivery:
    """One record on its way: `await` it, or ask for its `result()`."""

    __slots__ = ("_index", "_of", "_timestamp")

    def __init__(self, of: Outcome, index: int, timestamp: int) -> None:
        self._of = of
        self._index = index
        self._timestamp = timestamp

    def done(self) -> bool:
        """Whether the record was written or given up."""
        return self._of.done

    def outcome(self) -> tuple[RecordMetadata | None, Exception | None]:
        """Metadata or error, once it is done."""
        of, index = self._of.part(self._index)
        if of.error is not None:
            return None, of.error
        offset = of.base_offset + index if of.base_offset >= 0 else -1
        stamp = of.log_append_ms if of.log_append_ms >= 0 else self._timestamp
        return RecordMetadata(of.target.topic, of.target.partition, offset, stamp), None

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait, not in the event loop, for the metadata; raises why the record was not written."""
        if not self._of.done:
            event = threading.Event()
            self._of.wait(event.set)
            if not event.wait(timeout_s):
                raise TimeoutError(f"the record was not written within {timeout_s:g} s")
        return self._metadata()

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self._of.done:
            yield from self._of.settled().__await__()
        return self._metadata()

    def _metadata(self) -> RecordMetadata:
        metadata, error = self.outcome()
        if error is not None:
            raise error
        assert metadata is not None
        return metadata


def _set(future: asyncio.Future[None]) -> None:
    loop = future.get_loop()
    try:
        same = asyncio.get_running_loop() is loop
    except RuntimeError:
        same = False
    if same:
        if not future.done():
            future.set_result(None)
    else:
        loop.call_soon_threadsafe(_set, future)
