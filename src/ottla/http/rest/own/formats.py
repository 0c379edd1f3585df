"""Records in the formats that a reader may ask for, a batch at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from ottla.client.consumer_record import LOG_APPEND_TIME, ConsumerRecord
from ottla.http.server.answers import encoded
from ottla.http.server.errors import HttpError
from ottla.inspection.record_json import record_json

JSON: Final = "json"
SSE: Final = "sse"
CONTENT_TYPES: Final = {
    JSON: "application/json",
    "ndjson": "application/x-ndjson",
    SSE: "text/event-stream",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_BY_ACCEPT: Final = {name.partition(";")[0]: form for form, name in CONTENT_TYPES.items()}
_CSV_COLUMNS: Final = (
    "topic", "partition", "offset", "timestamp", "timestamp_type",
    "key", "key_base64", "value", "value_base64", "headers",
)  # fmt: skip
_ROWS_OF_A_GROUP: Final = 50_000


def chosen_format(asked: str | None, accept: str) -> str:
    """The format that ?format= or the Accept header names."""
    if asked is not None:
        return asked
    for part in accept.split(","):
        found = _BY_ACCEPT.get(part.partition(";")[0].strip().lower())
        if found is not None:
            return found
    return JSON


class Writer(Protocol):
    """Makes bytes of records."""

    def write(self, records: Sequence[ConsumerRecord]) -> bytes:
        """Some more records."""

    def end(self) -> bytes:
        """What comes behind the last record."""


class NdjsonWriter:
    """A line of JSON for each record, as `ottla records import` takes it."""

    def write(self, records: Sequence[ConsumerRecord]) -> bytes:
        """Some more records."""
        return b"".join(encoded(record_json(each)) + b"\n" for each in records)

    def end(self) -> bytes:
        """Nothing."""
        return b""


class CsvWriter:
    """RFC 4180, all texts quoted; keys and values that are no text are in columns of their own, as base64."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self._rows = csv.writer(self._text, quoting=csv.QUOTE_NONNUMERIC)
        self._rows.writerow(_CSV_COLUMNS)

    def write(self, records: Sequence[ConsumerRecord]) -> bytes:
        """Some more records."""
        for record in records:
            found = record_json(record)
            found["headers"] = encoded(found["headers"]).decode() if found["headers"] else ""
            self._rows.writerow([found.get(name) for name in _CSV_COLUMNS])
        return self.end()

    def end(self) -> bytes:
        """What was not given out yet."""
        data = self._text.getvalue().encode("utf-8", "surrogatepass")
        self._text.seek(0)
        self._text.truncate()
        return data


class _Sink(io.RawIOBase):
    """A file that keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._at = 0

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Keep some bytes."""
        view = memoryview(data)
        self._data += view
        self._at += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """How much was written in all."""
        return self._at

    def take(self) -> bytes:
        """What was kept."""
        data, self._data = bytes(self._data), bytearray()
        return data


class ArrowWriter:
    """Columns: a stream of Arrow, or a Parquet file whose row groups are written as they are full."""

    def __init__(self, *, parquet: bool) -> None:
        self._arrow, self._schema = _arrow_schema()
        self._sink = _Sink()
        self._file: Any = None
        if parquet:
            import pyarrow.parquet

            self._file = pyarrow.parquet.ParquetWriter(self._sink, self._schema)
        else:
            self._file = self._arrow.ipc.new_stream(self._sink, self._schema)
        self._least = _ROWS_OF_A_GROUP if parquet else 1
        self._waiting: list[ConsumerRecord] = []

    def write(self, records: Sequence[ConsumerRecord]) -> bytes:
        """Some more records."""
        self._waiting += records
        if len(self._waiting) >= self._least:
            self._flush()
        return self._sink.take()

    def end(self) -> bytes:
        """The rest, and what ends the file."""
        if self._waiting:
            self._flush()
        self._file.close()
        return self._sink.take()

    def _flush(self) -> None:
        records, self._waiting = self._waiting, []
        columns = [
            [each.topic for each in records],
            [each.partition for each in records],
            [each.offset for each in records],
            [each.timestamp for each in records],
            ["append" if each.timestamp_type == LOG_APPEND_TIME else "create" for each in records],
            [each.key for each in records],
            [each.value for each in records],
            [[{"name": n, "value": v} for n, v in each.headers] for each in records],
        ]
        arrays = [
            self._arrow.array(values, field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._file.write_batch(self._arrow.record_batch(arrays, schema=self._schema))


def _arrow_schema() -> tuple[Any, Any]:
    try:
        import pyarrow
    except ImportError:
        raise HttpError(
            406,
            "Arrow and Parquet need pyarrow on the server: pip install 'ottla[parquet]'",
            code=406,
        ) from None
    header = pyarrow.struct([("name", pyarrow.string()), ("value", pyarrow.binary())])
    schema = pyarrow.schema(
        [
            ("topic", pyarrow.string()),
            ("partition", pyarrow.int32()),
            ("offset", pyarrow.int64()),
            ("timestamp", pyarrow.timestamp("ms", tz="UTC")),
            ("timestamp_type", pyarrow.string()),
            ("key", pyarrow.binary()),
            ("value", pyarrow.binary()),
            ("headers", pyarrow.list_(header)),
        ]
    )
    return pyarrow, schema


WRITERS: Final[dict[str, Callable[[], Writer]]] = {
    "ndjson": NdjsonWriter,
    "csv": CsvWriter,
    "arrow": lambda: ArrowWriter(parquet=False),
    "parquet": lambda: ArrowWriter(parquet=True),
}
