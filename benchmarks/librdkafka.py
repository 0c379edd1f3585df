"""The librdkafka inside confluent-kafka, called so that no Python runs for each record.

The Python methods of confluent-kafka cost more for each record than either broker does, and would
hide the difference between them. The batch functions of the same library do not.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import confluent_kafka  # noqa: F401  loads the library

PRODUCER, CONSUMER = 0, 1
BLOCK_WHEN_FULL, PARTITION_OF_MESSAGE = 0x4, 0x8
ERROR_TEXT_BYTES = 512


class LibrdkafkaError(Exception):
    """librdkafka refused a call."""


class Message(ctypes.Structure):
    """rd_kafka_message_t."""

    _fields_ = (
        ("err", c_int),
        ("topic", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("len", c_size_t),
        ("key", c_void_p),
        ("key_len", c_size_t),
        ("offset", c_int64),
        ("_private", c_void_p),
    )


ON_MESSAGE = ctypes.CFUNCTYPE(None, POINTER(Message), c_void_p)

SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_conf_new": (c_void_p, []),
    "rd_kafka_conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "rd_kafka_new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "rd_kafka_destroy": (None, [c_void_p]),
    "rd_kafka_topic_new": (c_void_p, [c_void_p, c_char_p, c_void_p]),
    "rd_kafka_topic_destroy": (None, [c_void_p]),
    "rd_kafka_produce_batch": (c_int, [c_void_p, c_int32, c_int, POINTER(Message), c_int]),
    "rd_kafka_flush": (c_int, [c_void_p, c_int]),
    "rd_kafka_queue_new": (c_void_p, [c_void_p]),
    "rd_kafka_queue_destroy": (None, [c_void_p]),
    "rd_kafka_consume_start_queue": (c_int, [c_void_p, c_int32, c_int64, c_void_p]),
    "rd_kafka_consume_stop": (c_int, [c_void_p, c_int32]),
    "rd_kafka_consume_callback_queue": (c_int, [c_void_p, c_int, c_void_p, c_void_p]),
}


def _load() -> ctypes.CDLL:
    mapped = Path("/proc/self/maps").read_text().splitlines()
    path = next(line.split(maxsplit=5)[-1] for line in mapped if "/librdkafka" in line)
    library = ctypes.CDLL(path)
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


class _Handle:
    """A librdkafka client and one topic of it."""

    def __init__(self, kind: int, topic: str, config: Mapping[str, object]) -> None:
        error = ctypes.create_string_buffer(ERROR_TEXT_BYTES)
        settings = _library.rd_kafka_conf_new()
        for name, value in {"log_level": 3, **config}.items():
            encoded = name.encode(), str(value).encode()
            if _library.rd_kafka_conf_set(settings, *encoded, error, ERROR_TEXT_BYTES):
                raise LibrdkafkaError(error.value.decode())
        self._client = _library.rd_kafka_new(kind, settings, error, ERROR_TEXT_BYTES)
        if not self._client:
            raise LibrdkafkaError(error.value.decode())
        self._topic = _library.rd_kafka_topic_new(self._client, topic.encode(), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client's threads and connections."""
        _library.rd_kafka_topic_destroy(self._topic)
        _library.rd_kafka_destroy(self._client)


class Messages:
    """Values (and perhaps keys) laid out once in memory, to be produced over and over."""

    def __init__(
        self, values: Sequence[bytes], partitions: int, keys: Sequence[bytes] | None = None
    ) -> None:
        self.count = len(values)
        self.array = (Message * self.count)()
        self._kept = [values, keys]
        for number, message in enumerate(self.array):
            message.partition = number % partitions
            message.payload, message.len = _address(values[number]), len(values[number])
            if keys is not None:
                message.key, message.key_len = _address(keys[number]), len(keys[number])


def _address(data: bytes) -> int | None:
    return ctypes.cast(c_char_p(data), c_void_p).value


class BatchProducer(_Handle):
    """Produces whole arrays of messages."""

    def __init__(self, topic: str, config: Mapping[str, object]) -> None:
        super().__init__(PRODUCER, topic, config)

    def produce(self, messages: Messages, count: int) -> None:
        """Queues the first `count` messages, waiting while the queue is full."""
        flags = BLOCK_WHEN_FULL | PARTITION_OF_MESSAGE
        queued = _library.rd_kafka_produce_batch(self._topic, -1, flags, messages.array, count)
        if queued != count:
            raise LibrdkafkaError(f"only {queued} of {count} messages were queued")

    def flush(self, timeout_seconds: float = 120.0) -> None:
        """Waits until everything queued is acknowledged."""
        error = _library.rd_kafka_flush(self._client, int(timeout_seconds * 1000))
        if error:
            raise LibrdkafkaError(f"not all messages were delivered: error {error}")


class PartitionReader(_Handle):
    """Reads one partition from an offset, without a group."""

    def __init__(self, topic: str, offset: int, config: Mapping[str, object]) -> None:
        super().__init__(CONSUMER, topic, config)
        self._queue = _library.rd_kafka_queue_new(self._client)
        if _library.rd_kafka_consume_start_queue(self._topic, 0, offset, self._queue):
            raise LibrdkafkaError(f"topic {topic} cannot be read from offset {offset}")

    def discard(self, timeout_seconds: float = 1.0) -> int:
        """Takes what has been fetched and returns how many records it was."""
        return self._consume(timeout_seconds, _DO_NOTHING)

    def handle(self, on_message: Any, timeout_seconds: float = 1.0) -> int:
        """Calls an `ON_MESSAGE` function for each record that has been fetched."""
        return self._consume(timeout_seconds, ctypes.cast(on_message, c_void_p))

    def _consume(self, timeout_seconds: float, callback: c_void_p) -> int:
        timeout_ms = int(timeout_seconds * 1000)
        taken = _library.rd_kafka_consume_callback_queue(self._queue, timeout_ms, callback, None)
        if taken < 0:
            raise LibrdkafkaError("records could not be consumed")
        return int(taken)

    def close(self) -> None:
        """Stops fetching and ends the client."""
        _library.rd_kafka_consume_stop(self._topic, 0)
        _library.rd_kafka_queue_destroy(self._queue)
        super().close()


# A function of the C library that looks at its first argument's bits only: called for each
# record it costs nothing, where a Python callback would cost more than the broker.
_DO_NOTHING = ctypes.cast(ctypes.CDLL(None).labs, c_void_p)


def on_message(function: Callable[[bytes], None]) -> Any:
    """Makes a function of a record's value callable by librdkafka; keep the result alive."""

    def call(message: Any, _opaque: object) -> None:
        taken = message.contents
        if taken.err == 0:
            function(ctypes.string_at(taken.payload, taken.len))

    return ON_MESSAGE(call)
