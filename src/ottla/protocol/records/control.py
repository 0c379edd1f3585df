"""Pure: control batches, with which a coordinator ends a producer's transaction in a partition."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ottla.base.errors import ProtocolError
from ottla.protocol.records.batch import Buffer, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record, read_records

ABORT = 0
COMMIT = 1

_VERSION = 0
_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class EndTransactionMarker(NamedTuple):
    """How a transaction ended, and the epoch of the coordinator that said so."""

    committed: bool
    coordinator_epoch: int


def build_end_transaction_marker(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    now_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """A control batch of one marker."""
    record = Record(
        timestamp=now_ms,
        key=_KEY.pack(_VERSION, COMMIT if marker.committed else ABORT),
        value=_VALUE.pack(_VERSION, marker.coordinator_epoch),
    )
    return build_batch(
        [record],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_end_transaction_marker(buf: Buffer, pos: int = 0) -> EndTransactionMarker | None:
    """The marker in the control batch at `pos`; None for a control record of another type."""
    if not parse_header(buf, pos).is_control:
        raise ProtocolError("an end transaction marker outside of a control batch")
    records = read_records(buf, pos)
    if not records:
        # Compaction leaves the batch of a marker it removed empty, for its offset.
        return None
    key, value = records[0].key or b"", records[0].value or b""
    if len(key) < _KEY.size:
        raise ProtocolError(f"a control record with a key of {len(key)} bytes")
    _, kind = _KEY.unpack_from(key)
    if kind not in (ABORT, COMMIT):
        return None
    # A later version of the value may only add fields behind the epoch.
    if len(value) < _VALUE.size:
        raise ProtocolError(f"an end transaction marker of {len(value)} bytes")
    _, coordinator_epoch = _VALUE.unpack_from(value)
    return EndTransactionMarker(kind == COMMIT, coordinator_epoch)
