"""The producer, for programs that run an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.delivery import Callback, Delivery, RecordMetadata
from ottla.client.membership import Standing
from ottla.client.positions import OffsetAndMetadata
from ottla.client.producing import Producing
from ottla.client.record_encoder import GivenHeaders, as_headers


class AsyncProducer:
    """Writes records to topics.

    Settings have Kafka's names, in a mapping or as keyword arguments with _ for a dot:

        async with AsyncProducer({"bootstrap.servers": "localhost:9092"}, linger_ms=20) as producer:
            metadata = await producer.send_and_wait("orders", b"value", key=b"key")

    `send_and_wait` returns once the record is written. `send` returns once it is in a batch; the delivery that it
    returns may be awaited or forgotten: `flush`, or leaving the block, waits for all of them. key.serializer and
    value.serializer are "bytes", "string", "json" or a callable.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._core = Producing(settings, named)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: GivenHeaders = (),
        on_delivery: Callback | None = None,
    ) -> Delivery:
        """Put a record into a batch; waits only for the topic's metadata, or for room."""
        core = self._core
        if core.serialize_value is not None:
            value = core.serialize_value(value)
        if core.serialize_key is not None:
            key = core.serialize_key(key)
        pairs = as_headers(headers) if headers else ()
        before = core.accumulator.opened
        while (
            delivery := core.append(topic, value, key, partition, timestamp_ms, pairs, on_delivery)
        ) is None:
            await core.make_way(topic)
        if core.accumulator.opened != before:
            core.sender().wake()
            # A loop of sends would otherwise leave the event loop no turn to send in.
            await asyncio.sleep(0)
        return delivery

    async def send_and_wait(
        self, topic: str, value: Any = None, key: Any = None, **more: Any
    ) -> RecordMetadata:
        """Send a record, with the arguments of `send`, and wait until it is written."""
        return await (await self.send(topic, value, key, **more))

    async def flush(self) -> None:
        """Send everything now, and wait until it is written or given up."""
        await self._core.flush()

    async def partitions_for(self, topic: str) -> int:
        """How many partitions a topic has."""
        return await self._core.know(topic)

    # --- transactions

    async def init_transactions(self) -> None:
        """Get ready for transactions: fences off older producers of the same transactional.id."""
        await self._core.init_transactions()

    def begin_transaction(self) -> None:
        """What is sent from now on is read by others all together, or never."""
        self._core.transactions.begin()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: Standing | str,
    ) -> None:
        """Commit offsets of a consumer's group with the transaction; `group` is its group_metadata()."""
        await self._core.send_offsets(offsets, group)

    async def commit_transaction(self) -> None:
        """Write everything, and let it be read."""
        await self._core.transactions.end(commit=True)

    async def abort_transaction(self) -> None:
        """Let nothing of it be read."""
        await self._core.transactions.end(commit=False)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction that commits at the end of the block, and aborts if the block or the commit fails.

        If the coordinator does not answer the commit, nobody knows the outcome: `commit_transaction` asks again.
        """
        self.begin_transaction()
        try:
            yield
            await self.commit_transaction()
        except BaseException as error:
            if self._core.transactions.state.abortable():
                try:
                    await self.abort_transaction()
                except OttlaError as failure:
                    error.add_note(f"the transaction was not aborted either: {failure}")
            raise

    async def close(self, timeout_s: float | None = None) -> None:
        """Write what is still to be written, for at most `timeout_s`, and close all connections."""
        await self._core.close(timeout_s)
