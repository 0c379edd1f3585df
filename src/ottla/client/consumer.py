"""The consumer, for programs without an event loop: the same, on a thread of its own."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from ottla.base.ids import TopicPartition
from ottla.client.commits import Committed
from ottla.client.consumer_record import ConsumerRecord
from ottla.client.consumer_settings import EARLIEST, LATEST
from ottla.client.consuming import (
    CLOSE_TIMEOUT_S,
    Consuming,
    Listener,
    Listeners,
    OffsetAndTimestamp,
)
from ottla.client.membership import Standing
from ottla.client.positions import OffsetAndMetadata
from ottla.client.sync import LoopThread

T = TypeVar("T")
_LONG_S = 3_600.0
_FRESH_S = 0.05
"""Whoever polls serves the group at least this often."""


class _Errand:
    """Work in the loop's thread that has listeners called in the thread that waits for it.

    A listener may itself use the consumer, which it could not in the thread of the loop.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._wish: asyncio.Future[tuple[Listener, list[TopicPartition]]] | None = None
        self._granted: asyncio.Future[None] | None = None

    async def call(self, listener: Listener, partitions: list[TopicPartition]) -> None:
        """Have the waiting thread call a listener, and wait until it has."""
        assert self._wish is not None  # listeners are called inside of errands only
        self._granted = asyncio.get_running_loop().create_future()
        self._wish.set_result((listener, partitions))
        await self._granted

    async def begin(
        self, work: Coroutine[Any, Any, Any]
    ) -> tuple[Listener, list[TopicPartition]] | None:
        """Work until it is done, which is None, or until a listener is to be called."""
        self._task = asyncio.get_running_loop().create_task(work)
        return await self._proceed()

    async def resume(
        self, error: BaseException | None
    ) -> tuple[Listener, list[TopicPartition]] | None:
        """The listener was called: go on."""
        assert self._granted is not None
        if error is None:
            self._granted.set_result(None)
        else:
            self._granted.set_exception(error)
        return await self._proceed()

    async def _proceed(self) -> tuple[Listener, list[TopicPartition]] | None:
        assert self._task is not None
        self._wish = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait((self._task, self._wish), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        return self._wish.result() if self._wish.done() else None

    async def result(self) -> Any:
        """What the work came to."""
        assert self._task is not None
        return await self._task


class Consumer:
    """Reads records from topics, alone or as a member of a group; to be used from one thread at a time.

    Settings have Kafka's names, in a mapping or as keyword arguments with _ for a dot:

        with Consumer({"bootstrap.servers": "localhost:9092"}, group_id="billing") as consumer:
            consumer.subscribe(["orders"])
            for record in consumer:
                print(record.key, record.value)

    Partitions come and go, and listeners are told, while `poll` or the loop above waits for records.
    key.deserializer and value.deserializer are "bytes", "string", "json" or a callable.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._core = Consuming(settings, named)
        self._thread = LoopThread("ottla-consumer")
        self._listened_to = False
        self._fresh_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Work in which listeners may be called."""
        if not self._listened_to:
            return self._thread.run(work)
        errand, before = _Errand(), self._core.call
        self._core.call = errand.call
        try:
            return self._accompany(errand, work)
        finally:
            # A listener may itself have begun an errand: the outer one goes on.
            self._core.call = before

    def _accompany(self, errand: _Errand, work: Coroutine[Any, Any, T]) -> T:
        wish = self._thread.run(errand.begin(work))
        while wish is not None:
            error: BaseException | None = None
            try:
                wish[0](wish[1])
            except BaseException as raised:
                error = raised
            wish = self._thread.run(errand.resume(error))
        found: T = self._thread.run(errand.result())
        return found

    # --- what to read

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str],
        *,
        on_assigned: Listener | None = None,
        on_revoked: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Share the partitions of topics, given by name or as a pattern, with the group."""
        listeners = Listeners(on_assigned, on_revoked, on_lost)
        self._listened_to = self._listened_to or any(listeners)
        self._run(self._core.subscribe(topics, listeners))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, outside of any group's sharing."""
        self._run(self._core.assign(partitions))

    def unsubscribe(self) -> None:
        """Leave the group, and read nothing."""
        self._run(self._core.unsubscribe())

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read at present."""
        return self._core.owned()

    # --- reading

    def poll(self, timeout_s: float = 1.0, max_records: int | None = None) -> list[ConsumerRecord]:
        """Records as soon as there are any, an empty list after the time."""
        most = max_records or self._core.settings.max_poll_records
        self._fill(timeout_s, most)
        return self._core.give_out(most)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        core = self._core
        most = core.settings.max_poll_records
        while True:
            self._fill(_LONG_S, most)
            for _ in range(most):
                if not core.unread:
                    break
                yield core.unread.pop()

    def _fill(self, timeout_s: float, most: int) -> None:
        """Have something to give out.

        What was fetched is decoded here; the loop's thread, whom to ask takes as long as decoding a hundred
        records, is asked when there is nothing left, and often enough to serve the group.
        """
        core = self._core
        if time.monotonic() < self._fresh_until:
            if not core.unread and (wish := core.refill(most)) is not None:
                self._thread.call(wish)
            if core.unread:
                return
        self._run(core.fill(timeout_s * 1000, most))
        self._fresh_until = time.monotonic() + _FRESH_S

    # --- where to read

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on from an offset of an assigned partition."""
        self._thread.run(_called(self._core.seek, partition, offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on from the first record of these partitions, or of all that are assigned."""
        self._thread.run(_called(self._core.seek_by, EARLIEST, partitions))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last record of these partitions, or of all that are assigned."""
        self._thread.run(_called(self._core.seek_by, LATEST, partitions))

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will be read."""
        return self._thread.run(self._core.position(partition))

    def pause(self, *partitions: TopicPartition) -> None:
        """Return nothing of these partitions until they are resumed."""
        self._thread.run(_called(self._core.pause, partitions, True))

    def resume(self, *partitions: TopicPartition) -> None:
        """Return records of these partitions again."""
        self._thread.run(_called(self._core.pause, partitions, False))

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return self._core.paused()

    def lag(self, partition: TopicPartition) -> int | None:
        """How many records lie between the position and the end, as far as is known."""
        return self._core.lag(partition)

    # --- committed offsets

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None
    ) -> None:
        """Commit these offsets, or how far everything was read."""
        self._thread.run(self._core.commit(offsets))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        on_commit: Committed | None = None,
    ) -> None:
        """Commit without waiting; `on_commit` is called with the offsets, and the error if there was one.

        The call comes in the consumer's own thread.
        """
        self._thread.run(_called(self._core.commit_soon, offsets, on_commit))

    def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where it has not."""
        return self._thread.run(self._core.committed(partitions))

    def group_metadata(self) -> Standing:
        """Who this consumer is in its group, for a producer's send_offsets_to_transaction."""
        return self._core.standing()

    # --- what there is

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return self._thread.run(self._core.ends(EARLIEST, partitions))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each partition."""
        return self._thread.run(self._core.ends(LATEST, partitions))

    def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time in each partition; None where there is none."""
        return self._thread.run(self._core.offsets_at(timestamps_ms))

    def partitions_for(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions."""
        return self._thread.run(self._core.partitions_for(topic))

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Commit if that is automatic, leave the group, for at most so long; close all connections."""
        if not self._thread.stopped:
            self._run(self._core.close(timeout_s))
            self._thread.stop()


async def _called(function: Any, *arguments: Any) -> None:
    function(*arguments)
