"""Reads the records of a topic for one request: from where it says, up to the end as it is now, or live."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.consumer_record import ConsumerRecord
from ottla.http.rest.own.choosing import Choice

POLL_S: Final = 0.5
SETTINGS: Final = {
    "auto_offset_reset": "earliest",
    "allow_auto_create_topics": "false",
    "max_poll_records": "2000",
    # One reader, who may be slow: little is fetched ahead.
    "fetch_max_bytes": str(4 << 20),
    "max_partition_fetch_bytes": str(1 << 20),
    "request_timeout_ms": "20000",
}


class Reading:
    """One pass over some partitions; `next_offsets` says where the next one goes on."""

    def __init__(
        self,
        consumer: AsyncConsumer,
        begin: Mapping[TopicPartition, int],
        end: Mapping[TopicPartition, int] | None,
        choice: Choice | None,
        limit: int | None,
    ) -> None:
        self._consumer = consumer
        self._end = end
        self._choice = choice
        self._left = limit
        self.next_offsets = dict(begin)
        self.scanned = 0
        self.at_end = False
        """Whether everything up to the end was read, rather than as much as was asked for."""

    async def batches(
        self, until: float | None = None
    ) -> AsyncGenerator[list[ConsumerRecord], None]:
        """Records in the order of their offsets, those that are wanted; empty lists while nothing comes.

        `until` is a moment of time.monotonic() at which reading ends, wherever it is.
        """
        consumer, begin = self._consumer, self.next_offsets
        await consumer.assign(begin)
        for at, offset in begin.items():
            consumer.seek(at, offset)
        unread = self._unread()
        if self._end is not None:
            consumer.pause(*(at for at in begin if at not in unread))
        while unread or self._end is None:
            records = await consumer.poll(POLL_S)
            self.scanned += len(records)
            kept, cut = await self._taken(records)
            yield kept
            if cut:
                return
            if self._end is not None:
                for at in sorted(unread):
                    self.next_offsets[at] = max(self.next_offsets[at], await consumer.position(at))
                done = unread - self._unread()
                consumer.pause(*done)
                unread -= done
            if until is not None and time.monotonic() >= until:
                return
        self.at_end = True

    def _unread(self) -> set[TopicPartition]:
        if self._end is None:
            return set(self.next_offsets)
        return {at for at, offset in self.next_offsets.items() if offset < self._end[at]}

    async def _taken(self, records: list[ConsumerRecord]) -> tuple[list[ConsumerRecord], bool]:
        """The records that are wanted, up to the limit, and whether that was reached."""
        if self._choice is None or not records:
            flags: Sequence[bool | int] = (True,) * len(records)
        else:
            flags = await self._choice.flags(records)
        kept: list[ConsumerRecord] = []
        for record, wanted in zip(records, flags, strict=True):
            at = TopicPartition(record.topic, record.partition)
            if self._end is not None and record.offset >= self._end[at]:
                continue
            if self._left is not None and self._left <= 0:
                return kept, True
            self.next_offsets[at] = record.offset + 1
            if wanted:
                kept.append(record)
                if self._left is not None:
                    self._left -= 1
        return kept, self._left is not None and self._left <= 0

    async def close(self) -> None:
        """End the consumer, and what chose its records."""
        if self._choice is not None:
            await self._choice.close()
        await self._consumer.close()
