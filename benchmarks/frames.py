"""Pure: Produce and Fetch requests encoded beforehand, so that a client costs next to nothing."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from fastcrc import crc32

PRODUCE_KEY, PRODUCE_VERSION = 0, 7
FETCH_KEY, FETCH_VERSION = 1, 4
CLIENT_ID = b"bench"
BATCH_OVERHEAD = 12
CRC_POSITION, CRC_END = 17, 21
LAST_OFFSET_DELTA_POSITION = 23


def varint(value: int) -> bytes:
    """A zigzag variable-length integer, as records use them."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def record(offset_delta: int, value: bytes) -> bytes:
    """One record without key and headers."""
    body = b"\0" + varint(0) + varint(offset_delta) + varint(-1)
    body += varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def batch(values: Sequence[bytes], timestamp_ms: int | None = None) -> bytes:
    """An uncompressed record batch of format 2, as of now: an older one retention would delete."""
    timestamp_ms = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
    records = b"".join(record(delta, value) for delta, value in enumerate(values))
    last = len(values) - 1
    times = (timestamp_ms, timestamp_ms)
    covered = struct.pack(">hiqqqhii", 0, last, *times, -1, -1, -1, len(values)) + records
    head = struct.pack(">qiib", 0, 9 + len(covered), -1, 2)
    return head + struct.pack(">I", crc32.iscsi(covered)) + covered


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header) + len(body)) + header + body


def produce_request(topic: str, partition: int, records: bytes, acks: int = 1) -> bytes:
    """A Produce request with one batch for one partition."""
    body = struct.pack(">hhi", -1, acks, 30_000) + struct.pack(">i", 1) + _string(topic)
    body += struct.pack(">iii", 1, partition, len(records)) + records
    return _frame(PRODUCE_KEY, PRODUCE_VERSION, body)


def produce_error(topic: str, reply: bytes | memoryview) -> int:
    """The error code in the reply (frame length included) to such a request."""
    position = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    return int(struct.unpack_from(">h", reply, position)[0])


def fetch_request(topic: str, partition: int, offset: int, max_bytes: int) -> bytes:
    """A Fetch request for one partition."""
    body = struct.pack(">iiiib", -1, 500, 1, max_bytes, 0) + struct.pack(">i", 1) + _string(topic)
    body += struct.pack(">iiqi", 1, partition, offset, max_bytes)
    return _frame(FETCH_KEY, FETCH_VERSION, body)


def fetched(topic: str, reply: memoryview) -> tuple[int, int, int]:
    """Error code, position and size of the records in the reply to such a request."""
    position = 4 + 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    error, _, _, aborted = struct.unpack_from(">hqqi", reply, position)
    position += 22 + 16 * max(aborted, 0)
    (size,) = struct.unpack_from(">i", reply, position)
    return error, position + 4, max(size, 0)


def next_offset(records: memoryview, offset: int) -> int:
    """The offset after the last whole batch; `offset` where there is none."""
    position = 0
    while position + LAST_OFFSET_DELTA_POSITION + 4 <= len(records):
        base, length = struct.unpack_from(">qi", records, position)
        if position + BATCH_OVERHEAD + length > len(records):
            break
        (delta,) = struct.unpack_from(">i", records, position + LAST_OFFSET_DELTA_POSITION)
        offset = base + delta + 1
        position += BATCH_OVERHEAD + length
    return offset
