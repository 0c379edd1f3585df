"""file-sink: records as the lines of one file, as Kafka's FileStreamSink writes them; exactly once.

Tasks stage their lines in files beside the target. `commit` writes into a ledger which bytes of the target it is
about to append, appends them, and writes the ledger again, with the next offset of each partition. A run that finds
such an intention cuts the target back to where it began. Lines that somebody else appends meanwhile stay.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ottla.connect.connectors.connector import Part, Sink
from ottla.connect.connectors.file_roots import ROOTS, roots_of
from ottla.connect.connectors.roots import inside
from ottla.connect.data.record import Record
from ottla.connect.data.values import as_text
from ottla.connect.options.table import Importance, Kind, Option, Options, non_empty


class FileSink(Sink):
    """Writes each value as text, and a newline behind it."""

    options = Options(
        (
            Option(
                name="file",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=non_empty,
                doc="The file to append to.",
            ),
            ROOTS,
        )
    )

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        super().__init__(settings)
        self._path = inside(self.settings["file"], roots_of(self.settings))
        self._ledger = self._path.with_name(f".{self._path.name}.ledger")
        self._staging = self._path.with_name(f".{self._path.name}.staged")

    def open(self) -> Mapping[tuple[str, int], int]:
        """Undo a commit that a crash cut short; drop what was staged and never committed."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._staging, ignore_errors=True)
        self._staging.mkdir()
        return self._recovered()

    def stage(self, topic: str, partition: int, start: int, records: Iterator[Record]) -> str:
        """Write the lines of one task into a file of its own."""
        name = f"{topic}-{partition}-{start}.{uuid.uuid4().hex}"
        with (self._staging / name).open("w", encoding="utf-8", newline="\n") as file:
            for record in records:
                text = as_text(record.value, record.value_schema)
                file.write(("null" if text is None else text) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return name

    def commit(self, parts: Sequence[Part]) -> None:
        """Append the lines of all parts that are not there yet."""
        offsets = self._recovered()
        new = [
            part
            for part in sorted(parts, key=lambda part: part.covered)
            if part.covered.end > offsets.get(part.covered[:2], 0)
        ]
        if new:
            self._append(new, offsets)
        for part in parts:
            (self._staging / part.receipt).unlink(missing_ok=True)

    def _append(self, parts: Sequence[Part], offsets: dict[tuple[str, int], int]) -> None:
        size = sum((self._staging / part.receipt).stat().st_size for part in parts)
        start = self._path.stat().st_size if self._path.exists() else 0
        self._write_ledger(offsets, intended=[start, start + size])
        with self._path.open("ab") as target:
            for part in parts:
                with (self._staging / part.receipt).open("rb") as staged:
                    shutil.copyfileobj(staged, target, 1 << 20)
                offsets[part.covered[:2]] = part.covered.end
            target.flush()
            os.fsync(target.fileno())
        self._write_ledger(offsets, intended=None)

    def _recovered(self) -> dict[tuple[str, int], int]:
        """Return the next offset of each partition, with the target as it was when they were written."""
        try:
            ledger = json.loads(self._ledger.read_text())
        except FileNotFoundError:
            return {}
        offsets = {(topic, number): end for topic, number, end in ledger["offsets"]}
        if ledger["intended"] is not None and self._path.exists():
            start, end = ledger["intended"]
            if start < self._path.stat().st_size <= end:
                os.truncate(self._path, start)
            self._write_ledger(offsets, intended=None)
        return offsets

    def _write_ledger(
        self, offsets: Mapping[tuple[str, int], int], intended: list[int] | None
    ) -> None:
        rows = [[topic, number, end] for (topic, number), end in sorted(offsets.items())]
        replace_file(self._ledger, json.dumps({"offsets": rows, "intended": intended}))


def replace_file(path: Path, text: str) -> None:
    """Put a small file in place, as a whole, and on the disk."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
