"""Raw Kafka frames over a blocking socket, encoded by kafka-python: an oracle that is not ours."""

import socket
import struct
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.record.util import calc_crc32c

TIMEOUT_S = 10.0
CORRELATION_ID = 99
NOW_MS = int(time.time() * 1000)


class Closed(Exception):
    """The broker closed the connection."""


class Wire:
    """One connection that sends and receives whole frames."""

    def __init__(self, bootstrap: str, timeout_s: float = TIMEOUT_S) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are; a broker that has hung up shows at the next receive."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def send(self, request: ApiMessage) -> int:
        """Send one request and return its correlation id."""
        self._correlation_id += 1
        self.send_bytes(frame_of(request, self._correlation_id))
        return self._correlation_id

    def receive_bytes(self) -> bytes:
        """Receive one frame without its length; raises Closed at the end of the stream."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def receive(self, request: ApiMessage) -> Any:
        """Receive the response to the request, which carries the version that was sent."""
        return response_class(request).decode(
            self.receive_bytes(), version=request.API_VERSION, header=True
        )

    def ask(self, request: ApiMessage) -> Any:
        """Send a request and receive its response."""
        correlation_id = self.send(request)
        response = self.receive(request)
        assert response.header.correlation_id == correlation_id
        return response

    def _exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = self.socket.recv(size)
            except ConnectionResetError:
                part = b""
            if not part:
                raise Closed
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def is_closed(self) -> bool:
        """Whether the broker closes this connection within the timeout, having answered nothing."""
        try:
            self._exactly(1)
        except Closed:
            return True
        except TimeoutError:
            return False
        return False

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def response_class(request: ApiMessage) -> type[ApiMessage]:
    """The class of the response to a request: its neighbour in kafka-python's modules."""
    kind = type(request)[None]
    name = kind.__name__.replace("Request", "Response")
    return getattr(sys.modules[kind.__module__], name)


def frame_of(request: ApiMessage, correlation_id: int = 1) -> bytes:
    """The whole frame of a request: length, header and body."""
    request.with_header(correlation_id=correlation_id, client_id="wire")
    return bytes(request.encode(header=True, framed=True))


def raw_frame(api_key: int, version: int, body: bytes = b"", *, flexible: bool = False) -> bytes:
    """A frame with a header of the given key and version, whether or not they exist."""
    header = struct.pack(">hhih", api_key, version, CORRELATION_ID, 4) + b"wire"
    header += b"\0" if flexible else b""
    return struct.pack(">i", len(header) + len(body)) + header + body


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    timestamp_ms: int = NOW_MS,
    codec: int = 0,
    producer: tuple[int, int, int] | None = None,
) -> bytes:
    """One record batch of the values; producer is (id, epoch, base sequence)."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=1 << 24)
    for value in values:
        builder.append(timestamp=timestamp_ms, key=key, value=value, headers=[])
    if producer is not None:
        builder.set_producer_state(*producer, is_transactional=False)
    builder.close()
    return bytes(builder.buffer())


def patched(records: bytes, position: int, data: bytes, *, fix_crc: bool = True) -> bytes:
    """The batch with bytes overwritten at a position, and a CRC that says nothing is wrong."""
    changed = bytearray(records)
    changed[position : position + len(data)] = data
    if fix_crc:
        changed[17:21] = struct.pack(">I", calc_crc32c(memoryview(changed)[21:]))
    return bytes(changed)


def legacy_batch(magic: int, value: bytes = b"v") -> bytes:
    """A message set as clients wrote it before record batches: magic 0 or 1."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 16)
    builder.append(0, timestamp=NOW_MS if magic else None, key=None, value=value)
    return bytes(builder.build())


def produce_request(
    topic: str, records: bytes | None, *, partition: int = 0, acks: int = 1, version: int = 9
) -> ApiMessage:
    """A Produce request of one partition."""
    topics = ProduceRequest.TopicProduceData
    data = topics.PartitionProduceData(index=partition, records=records)
    return ProduceRequest[version](
        transactional_id=None,
        acks=acks,
        timeout_ms=10_000,
        topic_data=[topics(name=topic, partition_data=[data])],
    )


def fetch_request(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    version: int = 11,
) -> ApiMessage:
    """A sessionless Fetch request of one partition."""
    topics = FetchRequest.FetchTopic
    wanted = topics.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    return FetchRequest[version](
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=0,
        session_epoch=-1,
        topics=[topics(topic=topic, partitions=[wanted])],
    )


def produced(response: Any) -> Any:
    """The only partition of a Produce response."""
    return response.responses[0].partition_responses[0]


def fetched(response: Any) -> Any:
    """The only partition of a Fetch response."""
    return response.responses[0].partitions[0]


def values_of(records: bytes | None) -> Sequence[bytes]:
    """The record values of a run of batches, in order."""
    return [record.value for found in MemoryRecords(records or b"") for record in found]


def codecs_of(records: bytes | None) -> set[int]:
    """The codecs that a run of batches is compressed with."""
    return {found.compression_type for found in MemoryRecords(records or b"")}
