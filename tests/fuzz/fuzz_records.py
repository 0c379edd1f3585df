"""Coverage-guided fuzzing of everything that reads a producer's bytes.

    python -m tests.fuzz.fuzz_records [TARGET] [-max_total_time=60] [corpus directory]

Whatever comes in, only ProtocolError or ApiError may come out, and memory stays bounded.
"""

from __future__ import annotations

import resource
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["ottla"]):
    from ottla.base.errors import ApiError, ProtocolError
    from ottla.config.log import LogConfig
    from ottla.protocol.records.batch import (
        HEADER_SIZE,
        crc_of,
        iter_headers,
        parse_header,
    )
    from ottla.protocol.records.compression import decompress
    from ottla.protocol.records.control import read_end_transaction_marker
    from ottla.protocol.records.record import (
        first_record_at_or_after,
        max_timestamp_record,
        read_records,
        walk_records,
    )
    from ottla.storage.validate import validate_produced

NOW_MS = 1_700_000_000_000
LIMIT_BYTES = 2**20
MEMORY_BYTES = 2**29
"""What the process may allocate beside what its imports took; a MemoryError ends the run, with its cause."""
CONFIGS = [
    LogConfig(),
    LogConfig(cleanup_policy=frozenset({"compact"})),
    LogConfig(message_timestamp_type="LogAppendTime"),
    LogConfig(compression_type="lz4", message_timestamp_before_max_ms=1000),
    LogConfig(compression_type="uncompressed", message_timestamp_after_max_ms=2**63 - 1),
]


def fuzz_headers(data: bytes) -> None:
    """The walk over the batches of a buffer."""
    try:
        for pos, header in iter_headers(data):
            assert HEADER_SIZE <= header.size_bytes <= len(data) - pos
    except ProtocolError:
        pass


def fuzz_records(data: bytes) -> None:
    """The walk over one record section; the first byte is the count."""
    try:
        count = data[0] if data else 0
        spans = list(walk_records(data[1:], count))
        assert len(spans) == count
    except ProtocolError:
        pass


def fuzz_codecs(data: bytes) -> None:
    """Every decompressor; the first byte chooses."""
    if not data:
        return
    with suppress(ProtocolError):
        assert len(decompress(data[0] % 6, data[1:], LIMIT_BYTES)) <= LIMIT_BYTES


def fuzz_batch(data: bytes) -> None:
    """All readers of a stored batch."""
    for read in (
        read_records,
        max_timestamp_record,
        read_end_transaction_marker,
        lambda batch: first_record_at_or_after(batch, NOW_MS),
    ):
        with suppress(ProtocolError):
            read(data)


def put_right(batch: bytearray) -> None:
    """Give the bytes the length and the CRC of one batch."""
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch)))


def fuzz_produce(data: bytes) -> None:
    """Validation; the first byte chooses settings, and whether length and CRC are put right."""
    if not data:
        return
    choice, batch = data[0], bytearray(data[1:])
    if choice & 0x80 and len(batch) >= HEADER_SIZE:
        put_right(batch)
    config = CONFIGS[(choice & 0x3F) % len(CONFIGS)]
    try:
        taken = validate_produced(memoryview(batch), config, NOW_MS, deep=bool(choice & 0x40))
    except ApiError:
        return
    assert taken.header == parse_header(taken.batch)
    assert taken.header.crc == crc_of(taken.batch, 0, len(taken.batch))


def fuzz_arrow(data: bytes) -> None:
    """A fetch into Arrow; the first byte chooses isolation, and whether length and CRC are put right."""
    # Not instrumented: its loops are compiled from bytecode, into which calls would have been written.
    from ottla.pipeline.decoding import decode

    if not data:
        return
    choice, batch = data[0], bytearray(data[1:])
    if choice & 0x80 and len(batch) >= HEADER_SIZE:
        put_right(batch)
    aborted = [(1, 0)] if choice & 1 else None
    with suppress(ProtocolError):
        found = decode(batch, "t", 0, 0, 2**62, aborted, headers=True, limit_bytes=LIMIT_BYTES)
        if found.batch is not None:
            found.batch.validate(full=True)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "headers": fuzz_headers,
    "records": fuzz_records,
    "codecs": fuzz_codecs,
    "batch": fuzz_batch,
    "produce": fuzz_produce,
    "arrow": fuzz_arrow,
}


def fuzz_all(data: bytes) -> None:
    """Every reader on the same bytes."""
    for fuzz in TARGETS.values():
        fuzz(data)


def data_bytes() -> int:
    """What the process has allocated so far, as its limit counts it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmData:")[2].split()[0]) * 1024


def main() -> None:
    """Run one target, or all of them, until the time is up or something breaks."""
    named = len(sys.argv) > 1 and sys.argv[1] in TARGETS
    if not named or sys.argv[1] == "arrow":
        # A compiler needs more memory, and more time, than any input may take.
        from ottla.pipeline.decoding import warm

        warm()
    limit_bytes = data_bytes() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    atheris.Setup(sys.argv, TARGETS[sys.argv.pop(1)] if named else fuzz_all)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
