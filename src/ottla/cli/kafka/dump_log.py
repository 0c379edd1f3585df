"""kafka-dump-log: shows what is in the files of a segment, ours or Kafka's."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from typing import Final

from ottla.base.errors import ProtocolError
from ottla.cli.kafka.command import complain, run
from ottla.cli.kafka.dumped_indexes import (
    IndexCheck,
    TimeFlaws,
    dump_offset_index,
    dump_snapshot,
    dump_time_index,
    dump_txn_index,
)
from ottla.cli.kafka.dumped_log import ALL_BYTES, Parser, Wanted, dump_log
from ottla.cli.kafka.options import Command, Failed, Given, Option
from ottla.protocol.records.record import Record

_CLASS: Final = "String"
COMMAND = Command(
    "kafka-dump-log",
    "Shows what is in the log, index and snapshot files of a partition.",
    (
        Option(
            "files",
            "REQUIRED: the files to show, with commas between.",
            "String: file1, file2, ...",
        ),
        Option("print-data-log", "Show the contents of records. A decoder implies it."),
        Option(
            "deep-iteration", "Show every record, not only batches. --print-data-log implies it."
        ),
        Option(
            "index-sanity-check",
            "Check an index as a broker does when it starts, and show no entries.",
        ),
        Option("verify-index-only", "Compare an index with its log, and show no entries."),
        Option(
            "key-decoder-class",
            "How to read keys: StringDecoder, IntegerDecoder, LongDecoder or DoubleDecoder.",
            _CLASS,
            True,
        ),
        Option("value-decoder-class", "How to read values, as for keys.", _CLASS, True),
        Option(
            "max-bytes",
            "Read no more than this much of a log. (default: 2147483647)",
            "Integer: size",
        ),
        Option(
            "max-message-size", "The size of the largest batch; no longer needed.", "Integer: size"
        ),
        Option("offsets-decoder", "Show records as those of __consumer_offsets."),
        Option("transaction-log-decoder", "Show records as those of __transaction_state."),
        Option("cluster-metadata-decoder", "Show records as KRaft's metadata; not available here."),
        Option(
            "remote-log-metadata-decoder",
            "Show records as those of tiered storage; not available here.",
        ),
        Option(
            "share-group-state-decoder",
            "Show records as those of share groups; not available here.",
        ),
        Option("skip-record-metadata", "Show keys and payloads alone."),
    ),
)

_NOT_AVAILABLE: Final = (
    "cluster-metadata-decoder",
    "remote-log-metadata-decoder",
    "share-group-state-decoder",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-dump-log; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    given.require("files")
    for name in _NOT_AVAILABLE:
        if given.has(name):
            raise Failed(f"--{name}: ottla keeps no such records, and does not read Kafka's.")
    wanted = _wanted(given)
    check = IndexCheck(given.has("index-sanity-check"), given.has("verify-index-only"))
    mismatches: dict[str, list[tuple[int, int]]] = {}
    time_flaws: dict[str, TimeFlaws] = {}
    gaps: dict[str, list[tuple[int, int]]] = {}
    for path in (given.value("files") or "").split(","):
        print(f"Dumping {path}")
        suffix = os.path.splitext(path)[1]
        if suffix == ".log":
            gaps[os.path.abspath(path)] = dump_log(path, wanted)
        elif suffix == ".index":
            mismatches[os.path.abspath(path)] = dump_offset_index(path, check)
        elif suffix == ".timeindex":
            time_flaws[os.path.abspath(path)] = dump_time_index(path, check)
        elif suffix == ".snapshot":
            dump_snapshot(path)
        elif suffix == ".txnindex":
            dump_txn_index(path)
        else:
            complain(f"Ignoring unknown file {path}")
    _report(mismatches, time_flaws, gaps)
    return 0


def _wanted(given: Given) -> Wanted:
    parser = _parser(given)
    return Wanted(
        deep=parser is not None or given.has("deep-iteration"),
        parser=parser,
        skip_metadata=given.has("skip-record-metadata"),
        max_bytes=ALL_BYTES
        if given.number("max-bytes") is None
        else given.number("max-bytes") or 0,
    )


def _parser(given: Given) -> Parser | None:
    if given.has("offsets-decoder") or given.has("transaction-log-decoder"):
        from ottla.cli.kafka import coordinator_json

        offsets = given.has("offsets-decoder")
        read = coordinator_json.offsets_record if offsets else coordinator_json.transaction_record
        return lambda record: _coordinator_record(record, read)
    decoders = ("key-decoder-class", "value-decoder-class")
    if not given.has("print-data-log") and not any(map(given.has, decoders)):
        return None
    key, value = (_decoder(given.value(name)) for name in decoders)
    return lambda record: (
        None if record.key is None else key(record.key),
        None if record.value is None else value(record.value),
    )


def _coordinator_record(
    record: Record, read: Callable[[bytes, bytes | None], tuple[str, str]]
) -> tuple[str, str | None]:
    from ottla.cli.kafka.coordinator_json import UnknownKind

    if record.key is None:
        raise Failed(
            f"Failed to decode message at offset {record.offset} using the specified decoder "
            "(message had a missing key)"
        )
    try:
        return read(record.key, record.value)
    except UnknownKind as unknown:
        return f"{unknown} at offset {record.offset}, skipping.", None
    except ProtocolError as flaw:
        return f"Error at offset {record.offset}, skipping. {flaw}", None


def _decoder(name: str | None) -> Callable[[bytes], str]:
    """What reads keys or values; the packages of Kafka's decoders have moved, their names have not."""
    simple = (name or "StringDecoder").rpartition(".")[2]
    if simple == "StringDecoder":
        return lambda data: data.decode(errors="replace")
    formats = {"IntegerDecoder": ">i", "LongDecoder": ">q", "DoubleDecoder": ">d"}
    if simple not in formats:
        known = ", ".join(["StringDecoder", *formats])
        raise Failed(f"{name}: no such decoder; there are {known}.")
    return lambda data: _number(formats[simple], data, simple)


def _number(code: str, data: bytes, decoder: str) -> str:
    try:
        return str(struct.unpack_from(code, data)[0])
    except struct.error:
        raise Failed(f"{decoder} cannot read {len(data)} bytes: {data[:20]!r}") from None


def _report(
    mismatches: dict[str, list[tuple[int, int]]],
    time_flaws: dict[str, TimeFlaws],
    gaps: dict[str, list[tuple[int, int]]],
) -> None:
    for path, pairs in mismatches.items():
        _complain_of(f"Mismatches in :{path}", "  Index offset: {}, log offset: {}", pairs)
    _report_times(time_flaws)
    for path, pairs in gaps.items():
        _complain_of(f"Non-consecutive offsets in {path}", "  {} is followed by {}", pairs)


def _report_times(found: dict[str, TimeFlaws]) -> None:
    for path, flaws in found.items():
        title = f"Found timestamp mismatch in :{path}"
        _complain_of(title, "  Index timestamp: {}, log timestamp: {}", flaws.mismatches)
    for path, flaws in found.items():
        title = f"Found out of order timestamp in :{path}"
        line = "  Index timestamp: {}, Previously indexed timestamp: {}"
        _complain_of(title, line, flaws.out_of_order)
    for path, flaws in found.items():
        title = f"The following indexed offsets are not found in :{path}"
        _complain_of(title, "Indexed offset: {}, found log offset: {}", flaws.missing)


def _complain_of(title: str, line: str, pairs: list[tuple[int, int]]) -> None:
    if pairs:
        complain("\n".join([title, *(line.format(*pair) for pair in pairs)]))
