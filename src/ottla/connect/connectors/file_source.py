"""file-source: the lines of a file that grows, as Kafka's FileStreamSource reads them; exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ottla.connect.connectors.connector import Offset, Partition, Source
from ottla.connect.connectors.file_roots import ROOTS, roots_of
from ottla.connect.connectors.roots import inside
from ottla.connect.data.record import Record
from ottla.connect.data.schema import STRING
from ottla.connect.errors import ConnectError
from ottla.connect.options.table import Importance, Kind, Option, Options, at_least, non_empty

MOST_BYTES: Final = 64 << 20
"""What one batch reads at most."""
_LONGEST_LINE: Final = 64 << 20
_READ_BYTES: Final = 1 << 20


class FileSource(Source):
    """Reads whole lines; the last line waits for its end."""

    options = Options(
        (
            Option(
                name="file",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=non_empty,
                doc="The file to follow. It may come later than the connector.",
            ),
            Option(
                name="topic",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=non_empty,
                doc="The topic to write lines to.",
            ),
            Option(
                name="batch.size",
                kind=Kind.INT,
                default=2000,
                importance=Importance.LOW,
                check=at_least(1),
                doc="Kept for Kafka's property files: batches are as large as what was written meanwhile.",
            ),
            ROOTS,
        )
    )

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        super().__init__(settings)
        self._path = inside(self.settings["file"], roots_of(self.settings))

    def topics(self) -> Sequence[str]:
        """Return the only one."""
        return [self.settings["topic"]]

    def partitions(self) -> Sequence[Partition]:
        """Return the file, under the name that the configuration has for it."""
        return [{"filename": self.settings["file"]}]

    def latest(self, partition: Partition, offset: Offset | None) -> Offset | None:
        """Return the end of the last whole line, or of the last one that fits a batch."""
        start = _position(offset)
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return None
        if size < start:
            raise ConnectError(
                f"{self.settings['file']} has {size} bytes, but {start} were read: it was cut or replaced. Set the"
                " connector's offset (PATCH /connectors/NAME/offsets) to say where to go on"
            )
        end = _last_line_end(str(self._path), start, min(size, start + MOST_BYTES))
        return None if end is None else {"position": end}

    def read(self, partition: Partition, start: Offset | None, end: Offset) -> Iterator[Record]:
        """Read the lines between two positions."""
        topic, left = self.settings["topic"], _position(end) - _position(start)
        with self._path.open("rb") as file:
            file.seek(_position(start))
            while left > 0:
                line = file.readline(left)
                if not line:
                    raise ConnectError(f"{self.settings['file']} was cut while it was read")
                left -= len(line)
                text = line.rstrip(b"\n").removesuffix(b"\r").decode(errors="replace")
                yield Record(topic, None, None, None, STRING, text)


def _position(offset: Offset | None) -> int:
    return int(offset["position"]) if offset else 0


def _last_line_end(path: str, start: int, limit: int) -> int | None:
    """Return where the last line that ends before `limit` ends, looking from behind; None if none does."""
    with open(path, "rb") as file:
        at = limit
        while at > start:
            begin = max(start, at - _READ_BYTES)
            file.seek(begin)
            found = file.read(at - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            at = begin
        if limit - start < MOST_BYTES:
            return None  # a line that is still being written
        raise ConnectError(
            f"{path} has a line of more than {_LONGEST_LINE} bytes at position {start}"
        )
