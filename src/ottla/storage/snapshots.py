"""The producer snapshot files of one log: `<offset>.snapshot`, the producers as of that offset.

One is written when a segment is rolled, at a checkpoint and at a clean stop. Those at the base of
a segment stay as long as the segment; of the others, only the newest is kept.
"""

from collections.abc import Callable, Iterable

from ottla.base.errors import CorruptLog
from ottla.base.log import logger
from ottla.storage import fs
from ottla.storage.producer_state import ProducerState

log = logger(__name__)

SNAPSHOT_SUFFIX = ".snapshot"


class Snapshots:
    """The snapshot files in a partition directory."""

    __slots__ = ("_directory", "_offsets")

    def __init__(self, directory: str, offsets: Iterable[int] = ()) -> None:
        self._directory = directory
        self._offsets = sorted(offsets)

    def path(self, offset: int) -> str:
        """Where the producers as of an offset are kept."""
        return f"{self._directory}/{offset:020d}{SNAPSHOT_SUFFIX}"

    def newest(self, upper_offset: int) -> tuple[ProducerState, int]:
        """The newest that reads well, not above an offset, and its offset; else nothing as of 0."""
        for offset in sorted(self._offsets, reverse=True):
            if offset > upper_offset:
                continue
            try:
                content = fs.read_file(self.path(offset)) or b""
                return ProducerState.decode_snapshot(content), offset
            except CorruptLog as error:
                log.warning("producer snapshot skipped", path=self.path(offset), error=str(error))
        return ProducerState(), 0

    def write(self, offset: int, producers: ProducerState) -> None:
        """Write a snapshot, unsynced: recovery can do without it."""
        for path, content in self.to_write(offset, producers):
            fs.write_atomic(path, content, sync=False)

    def to_write(self, offset: int, producers: ProducerState) -> list[tuple[str, bytes]]:
        """The file to write for a snapshot, unless there is one already."""
        if offset in self._offsets:
            return []
        self._offsets.append(offset)
        return [(self.path(offset), producers.encode_snapshot())]

    def keep(self, wanted: Callable[[int], bool]) -> None:
        """Delete the snapshots that are not wanted."""
        gone = [offset for offset in self._offsets if not wanted(offset)]
        self._offsets = [offset for offset in self._offsets if wanted(offset)]
        fs.unlink(self.path(offset) for offset in gone)

    def keep_newest_and(self, bases: set[int]) -> None:
        """Delete those between segments except for the newest."""
        newest = max(self._offsets, default=0)
        self.keep(lambda offset: offset in bases or offset == newest)

    def retire_below(self, first_offset: int, suffix: str) -> list[str]:
        """Rename the snapshots below an offset; returns what to unlink later."""
        return self._retire([each for each in self._offsets if each < first_offset], suffix)

    def retire_between(self, bases: set[int], suffix: str) -> list[str]:
        """Rename those that are at the base of no segment, except for the newest; returns what to unlink later."""
        newest = max(self._offsets, default=0)
        gone = [each for each in self._offsets if each not in bases and each != newest]
        return self._retire(gone, suffix)

    def _retire(self, gone: list[int], suffix: str) -> list[str]:
        self._offsets = [offset for offset in self._offsets if offset not in gone]
        paths = [self.path(offset) for offset in gone]
        return [path + suffix for path in paths if fs.rename(path, path + suffix, missing_ok=True)]
