"""The producer, for programs without an event loop: the same, on a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.delivery import Callback, Delivery
from ottla.client.membership import Standing
from ottla.client.positions import OffsetAndMetadata
from ottla.client.producing import Producing
from ottla.client.record_encoder import GivenHeaders, as_headers
from ottla.client.sync import LoopThread


class Producer:
    """Writes records to topics; may be used from several threads.

    Settings have Kafka's names, in a mapping or as keyword arguments with _ for a dot:

        with Producer({"bootstrap.servers": "localhost:9092"}, linger_ms=20) as producer:
            delivery = producer.send("orders", b"value", key=b"key")
            print(delivery.result().offset)

    `send` returns once the record is in a batch. The delivery that it returns may be waited for or
    forgotten: `flush`, or leaving the block, waits for all of them. Callbacks run in the producer's own
    thread. key.serializer and value.serializer are "bytes", "string", "json" or a callable.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._core = Producing(settings, named)
        self._thread = LoopThread("ottla-producer")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def send(
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
            self._thread.run(core.make_way(topic))
        if core.accumulator.opened != before:
            core.sender().wake_from_thread()
        return delivery

    def flush(self) -> None:
        """Send everything now, and wait until it is written or given up."""
        self._thread.run(self._core.flush())

    def partitions_for(self, topic: str) -> int:
        """How many partitions a topic has."""
        return self._thread.run(self._core.know(topic))

    # --- transactions

    def init_transactions(self) -> None:
        """Get ready for transactions: fences off older producers of the same transactional.id."""
        self._thread.run(self._core.init_transactions())

    def begin_transaction(self) -> None:
        """What is sent from now on is read by others all together, or never."""
        self._core.transactions.begin()

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: Standing | str,
    ) -> None:
        """Commit offsets of a consumer's group with the transaction; `group` is its group_metadata()."""
        self._thread.run(self._core.send_offsets(offsets, group))

    def commit_transaction(self) -> None:
        """Write everything, and let it be read."""
        self._thread.run(self._core.transactions.end(commit=True))

    def abort_transaction(self) -> None:
        """Let nothing of it be read."""
        self._thread.run(self._core.transactions.end(commit=False))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that commits at the end of the block, and aborts if the block or the commit fails.

        If the coordinator does not answer the commit, nobody knows the outcome: `commit_transaction` asks again.
        """
        self.begin_transaction()
        try:
            yield
            self.commit_transaction()
        except BaseException as error:
            if self._core.transactions.state.abortable():
                try:
                    self.abort_transaction()
                except OttlaError as failure:
                    error.add_note(f"the transaction was not aborted either: {failure}")
            raise

    def close(self, timeout_s: float | None = None) -> None:
        """Write what is still to be written, for at most `timeout_s`, and close all connections."""
        if not self._thread.stopped:
            self._thread.run(self._core.close(timeout_s))
            self._thread.stop()
