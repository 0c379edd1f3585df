"""Records and batches that several tests build on."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st

from ottla.protocol.records.batch import Buffer, pack_batch, parse_header
from ottla.protocol.records.record import Record

NOW_MS = 1_700_000_000_000

THREE_RECORDS = [
    Record(0, NOW_MS, b"key", b"value", (("trace", b"1"), ("empty", b""), ("null", None))),
    Record(1, NOW_MS + 5, None, b"no key"),
    Record(2, NOW_MS - 5, b"tombstone", None),
]

TIMESTAMPS = st.integers(min_value=0, max_value=2**41)
HEADERS = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=20)), max_size=3)
RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=TIMESTAMPS,
        key=st.none() | st.binary(max_size=70),
        value=st.none() | st.binary(max_size=300),
        headers=HEADERS.map(tuple),
    ),
    min_size=1,
    max_size=80,
)


def numbered(records: list[Record], base_offset: int = 0) -> list[Record]:
    """The same records with the offsets a batch gives them."""
    return [record._replace(offset=base_offset + n) for n, record in enumerate(records)]


def changed(batch: Buffer, **fields: Any) -> bytearray:
    """The batch with other header fields, and a CRC that agrees with them."""
    return pack_batch(parse_header(batch)._replace(**fields), bytes(batch)[61:])


def poked(batch: Buffer, pos: int, layout: str, value: int) -> bytearray:
    """The batch with a few bytes overwritten and nothing put right."""
    batch = bytearray(batch)
    struct.pack_into(layout, batch, pos, value)
    return batch
