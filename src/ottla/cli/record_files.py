"""Files of exported records: NDJSON for people and pipes, Parquet for data frames.

Both keep topic, partition, offset, timestamp and its type, key, value and headers, byte for byte.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, Self

from ottla.base.errors import OttlaError
from ottla.cli.writing import count_lines, lines_of
from ottla.client.consumer_record import LOG_APPEND_TIME
from ottla.inspection.record_json import NewRecord, NotARecord, new_record, record_json

if TYPE_CHECKING:
    from ottla.client.consumer_record import ConsumerRecord

STANDARD: Final = "-"
_ROWS_OF_A_BATCH: Final = 10_000
_TYPES: Final = ("create", "append")


def format_of(path: str, wanted: str | None) -> str:
    """ndjson or parquet, as wanted or by the name of the file."""
    if wanted is not None:
        return wanted
    return "parquet" if path.endswith((".parquet", ".pq")) else "ndjson"


class RecordSink(Protocol):
    """Where exported records go."""

    def write(self, records: Sequence[ConsumerRecord]) -> None:
        """Some more."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """All were written, or it failed."""


def open_sink(path: str, file_format: str) -> RecordSink:
    """A file to export to."""
    if file_format == "parquet":
        if path == STANDARD:
            raise OttlaError("Parquet cannot be written to a pipe; name a file with --to")
        return _ParquetSink(path)
    return _NdjsonSink(path)


def read_records(path: str, file_format: str) -> Iterator[tuple[str, NewRecord]]:
    """The records of a file, each with its place there."""
    return _read_parquet(path) if file_format == "parquet" else _read_ndjson(path)


def count_records(path: str, file_format: str) -> int | None:
    """How many records a file holds, where that can be known beforehand."""
    if file_format == "parquet":
        rows: int = _parquet().ParquetFile(path).metadata.num_rows
        return rows
    return count_lines(path)


class _File:
    """A file that gets its name when it is complete: half an export is not mistaken for a whole one."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.beside = self.path.with_name(f"{self.path.name}.part")

    def settle(self, *, well: bool) -> None:
        """Give it its name, or remove it."""
        if well:
            self.beside.replace(self.path)
        else:
            self.beside.unlink(missing_ok=True)


class _NdjsonSink:
    """A line of JSON for each record."""

    def __init__(self, path: str) -> None:
        self._file = None if path == STANDARD else _File(path)
        self._to: IO[str] = sys.stdout
        if self._file is not None:
            self._to = self._file.beside.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._to.close()
            self._file.settle(well=kind is None)

    def write(self, records: Sequence[ConsumerRecord]) -> None:
        """Some more."""
        lines = [json.dumps(record_json(record), ensure_ascii=False) for record in records]
        self._to.write("".join(f"{line}\n" for line in lines))


def _read_ndjson(path: str) -> Iterator[tuple[str, NewRecord]]:
    name = "line" if path == STANDARD else f"{path}, line"
    for number, line in enumerate(lines_of(path), 1):
        where = f"{name} {number}"
        try:
            yield where, new_record(json.loads(line))
        except NotARecord as flaw:
            raise OttlaError(f"{where} {flaw}") from None
        except (ValueError, RecursionError) as flaw:
            raise OttlaError(f"{where} is no JSON: {flaw}") from None


class _ParquetSink:
    """Columns of a Parquet file; keys and values are bytes there."""

    def __init__(self, path: str) -> None:
        parquet, arrow = _parquet(), _arrow()
        self._file = _File(path)
        self._arrow = arrow
        header = arrow.struct([("name", arrow.string()), ("value", arrow.binary())])
        self._schema = arrow.schema(
            [
                ("topic", arrow.string()),
                ("partition", arrow.int32()),
                ("offset", arrow.int64()),
                ("timestamp", arrow.timestamp("ms", tz="UTC")),
                ("timestamp_type", arrow.string()),
                ("key", arrow.binary()),
                ("value", arrow.binary()),
                ("headers", arrow.list_(header)),
            ]
        )
        self._writer = parquet.ParquetWriter(self._file.beside, self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.close()
        self._file.settle(well=kind is None)

    def write(self, records: Sequence[ConsumerRecord]) -> None:
        """Some more."""
        if not records:
            return
        columns = [
            [record.topic for record in records],
            [record.partition for record in records],
            [record.offset for record in records],
            [record.timestamp for record in records],
            [_TYPES[record.timestamp_type == LOG_APPEND_TIME] for record in records],
            [record.key for record in records],
            [record.value for record in records],
            [[{"name": n, "value": v} for n, v in record.headers] for record in records],
        ]
        arrays = [
            self._arrow.array(values, field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_batch(self._arrow.record_batch(arrays, schema=self._schema))


def _read_parquet(path: str) -> Iterator[tuple[str, NewRecord]]:
    arrow, number = _arrow(), 0
    file = _parquet().ParquetFile(path)
    if "value" not in file.schema_arrow.names:
        raise OttlaError(f"{path} has no column value: it is no file of records")
    wanted = ["value", "key", "headers", "partition", "timestamp"]
    present = [name for name in wanted if name in file.schema_arrow.names]
    for batch in file.iter_batches(batch_size=_ROWS_OF_A_BATCH, columns=present):
        columns = {name: batch.column(name) for name in present}
        if "timestamp" in columns:
            columns["timestamp"] = columns["timestamp"].cast(arrow.int64())
        rows: dict[str, Any] = {name: column.to_pylist() for name, column in columns.items()}
        nothing = [None] * batch.num_rows
        for row in zip(*(rows.get(name, nothing) for name in wanted), strict=True):
            number += 1
            yield f"{path}, row {number}", _from_row(*row)


def _from_row(value: Any, key: Any, headers: Any, partition: Any, timestamp: Any) -> NewRecord:
    pairs = tuple((each["name"], each["value"]) for each in headers or ())
    return NewRecord(_bytes(value), _bytes(key), pairs, partition, timestamp)


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise OttlaError(
            "Parquet needs pyarrow, which is not installed: pip install 'ottla[parquet]', or use "
            "NDJSON instead"
        ) from None
    return pyarrow


def _parquet() -> Any:
    _arrow()
    import pyarrow.parquet

    return pyarrow.parquet
