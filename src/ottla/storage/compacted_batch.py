"""Pure: what compaction leaves of one batch: fewer records, a delete horizon, or only its header.

Base offset, last offset, sequences and epochs stay what they were; count, greatest timestamp and
CRC follow from the records that are left. Records are copied as bytes. Only a new delete horizon,
which takes the place of the base timestamp (KIP-534), makes their timestamps be written anew.
"""

from ottla.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    NO_TIMESTAMP,
    BatchHeader,
    pack_batch,
)
from ottla.protocol.records.compression import Codec, compress
from ottla.protocol.records.record import timestamp_of
from ottla.storage.dirty_keys import DEAD, long_varint


def empty_batch(header: BatchHeader) -> bytearray:
    """The batch without its records, kept for its offsets, its sequence or its epoch.

    Differs from Kafka: it forgets the timestamps too, so that no index points to a record of a time
    that is not there, which Kafka's dump tool would call a mismatch.
    """
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG)
    return pack_batch(
        header._replace(
            attributes=attributes, base_timestamp=NO_TIMESTAMP, max_timestamp=NO_TIMESTAMP, count=0
        ),
        b"",
    )


def thinned_batch(header: BatchHeader, section: bytes, pos: int, states: bytes) -> bytearray:
    """The batch with the records that are not dead, as they were."""
    parts: list[bytes] = []
    count = latest = 0
    run = -1
    for state in states:
        start = pos
        size = section[pos]
        pos += 1
        if size > 0x7F:
            more = section[pos]
            pos += 1
            if more < 0x80:
                size = more << 7 | size & 0x7F
            else:
                size, pos = long_varint(section, pos - 2)
                size <<= 1
        if state == DEAD:
            if run >= 0:
                parts.append(section[run:start])
                run = -1
        else:
            if run < 0:
                run = start
            delta, _ = _varint_at(section, pos + 1)
            if delta > latest or not count:
                latest = delta
            count += 1
        pos += size >> 1
    if run >= 0:
        parts.append(section[run:pos])
    return _pack(header, count, header.base_timestamp + latest, b"".join(parts))


def stamped_batch(
    header: BatchHeader, section: bytes, pos: int, states: bytes, horizon_ms: int
) -> bytearray:
    """The same with a delete horizon, from which on the tombstones or the marker may go."""
    records = bytearray()
    latest = NO_TIMESTAMP
    for state in states:
        size, body = _varint_at(section, pos)
        pos = body + size
        if state == DEAD:
            continue
        delta, rest = _varint_at(section, body + 1)
        timestamp = timestamp_of(header, delta)
        latest = max(latest, timestamp)
        moved = varint(timestamp - horizon_ms)
        records += varint(1 + len(moved) + pos - rest)
        records.append(section[body])
        records += moved
        records += section[rest:pos]
    stamped = header._replace(
        base_timestamp=horizon_ms, attributes=header.attributes | DELETE_HORIZON_FLAG
    )
    return _pack(stamped, len(states) - states.count(DEAD), latest, bytes(records))


def varint(value: int) -> bytes:
    """A number as a zigzag varint."""
    unsigned = value << 1 if value >= 0 else ~(value << 1)
    out = bytearray()
    while unsigned > 0x7F:
        out.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    out.append(unsigned)
    return bytes(out)


def _pack(header: BatchHeader, count: int, latest: int, records: bytes) -> bytearray:
    if not header.is_log_append_time:
        header = header._replace(max_timestamp=latest)
    if header.codec != Codec.NONE:
        records = compress(header.codec, records)
    return pack_batch(header._replace(count=count), records)


def _varint_at(data: bytes, pos: int) -> tuple[int, int]:
    byte = data[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    return long_varint(data, pos)
