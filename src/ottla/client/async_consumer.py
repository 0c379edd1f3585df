"""The consumer, for programs that run an event loop."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

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

_LONG_MS = 3_600_000


class AsyncConsumer:
    """Reads records from topics, alone or as a member of a group.

    Settings have Kafka's names, in a mapping or as keyword arguments with _ for a dot:

        async with AsyncConsumer({"bootstrap.servers": "localhost:9092"}, group_id="billing") as consumer:
            await consumer.subscribe(["orders"])
            async for record in consumer:
                print(record.key, record.value)

    Partitions come and go, and listeners are told, while `poll` or the loop above waits for records.
    key.deserializer and value.deserializer are "bytes", "string", "json" or a callable.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._core = Consuming(settings, named)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # --- what to read

    async def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str],
        *,
        on_assigned: Listener | None = None,
        on_revoked: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Share the partitions of topics, given by name or as a pattern, with the group."""
        await self._core.subscribe(topics, Listeners(on_assigned, on_revoked, on_lost))

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, outside of any group's sharing."""
        await self._core.assign(partitions)

    async def unsubscribe(self) -> None:
        """Leave the group, and read nothing."""
        await self._core.unsubscribe()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read at present."""
        return self._core.owned()

    # --- reading

    async def poll(
        self, timeout_s: float = 1.0, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        """Records as soon as there are any, an empty list after the time."""
        most = max_records or self._core.settings.max_poll_records
        await self._core.fill(timeout_s * 1000, most)
        return self._core.give_out(most)

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        core = self._core
        while True:
            await core.fill(_LONG_MS, core.settings.max_poll_records)
            while core.unread:
                yield core.unread.pop()

    # --- where to read

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on from an offset of an assigned partition."""
        self._core.seek(partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on from the first record of these partitions, or of all that are assigned."""
        self._core.seek_by(EARLIEST, partitions)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last record of these partitions, or of all that are assigned."""
        self._core.seek_by(LATEST, partitions)

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will be read."""
        return await self._core.position(partition)

    def pause(self, *partitions: TopicPartition) -> None:
        """Return nothing of these partitions until they are resumed."""
        self._core.pause(partitions, True)

    def resume(self, *partitions: TopicPartition) -> None:
        """Return records of these partitions again."""
        self._core.pause(partitions, False)

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return self._core.paused()

    def lag(self, partition: TopicPartition) -> int | None:
        """How many records lie between the position and the end, as far as is known."""
        return self._core.lag(partition)

    # --- committed offsets

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None
    ) -> None:
        """Commit these offsets, or how far everything was read."""
        await self._core.commit(offsets)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        on_commit: Committed | None = None,
    ) -> None:
        """Commit without waiting; `on_commit` is called with the offsets, and the error if there was one."""
        self._core.commit_soon(offsets, on_commit)

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where it has not."""
        return await self._core.committed(partitions)

    def group_metadata(self) -> Standing:
        """Who this consumer is in its group, for a producer's send_offsets_to_transaction."""
        return self._core.standing()

    # --- what there is

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._core.ends(EARLIEST, partitions)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each partition."""
        return await self._core.ends(LATEST, partitions)

    async def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time in each partition; None where there is none."""
        return await self._core.offsets_at(timestamps_ms)

    async def partitions_for(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions."""
        return await self._core.partitions_for(topic)

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Commit if that is automatic, leave the group, for at most so long; close all connections."""
        await self._core.close(timeout_s)
