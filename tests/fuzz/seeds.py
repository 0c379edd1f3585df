"""Flawless inputs, from which a fuzzer starts to stray."""

from ottla.protocol.records.batch import HEADER_SIZE
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec, compress
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.protocol.records.record import Record
from tests.unit.protocol.records.samples import NOW_MS, THREE_RECORDS

KEYED = [Record(timestamp=NOW_MS, key=b"key", value=b"value", headers=(("name", b"x"),))] * 2
MARKER = build_end_transaction_marker(
    EndTransactionMarker(True, 1), producer_id=1, producer_epoch=0, now_ms=NOW_MS
)


def seeds(target: str) -> list[bytes]:
    """What the fuzz target of that name accepts."""
    batches = [bytes(build_batch(KEYED, codec=codec)) for codec in Codec]
    section = bytes(build_batch(THREE_RECORDS))[HEADER_SIZE:]
    match target:
        case "records":
            return [b"\x03" + section]
        case "codecs":
            return [bytes([codec]) + compress(codec, section * 20) for codec in Codec]
        case "arrow":
            return [
                bytes([choice]) + batch
                for batch in [*batches, bytes(MARKER)]
                for choice in (0x80, 1)
            ]
        case "produce":
            return [bytes([choice]) + batch for batch in batches for choice in range(0x80, 0x85)]
    return [*batches, b"".join(batches), bytes(MARKER)]
