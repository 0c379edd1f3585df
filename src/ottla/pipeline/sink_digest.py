"""How a repeated batch of a stream is recognised: by its query and the offsets of its sources, out of the checkpoint.

Not by its rows: a batch that is repeated after its job was changed, or that has some chance in it, has other rows, and
yet counts as written, as it does in every other sink of Spark. And another batch may have as many rows. The query's id
tells a checkpoint that was begun anew, whose offsets may look like the old ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from ottla.base.errors import OttlaError

Read: TypeAlias = Callable[[str], str | None]
"""Returns the text of a file, named by its path inside the checkpoint; None if there is none that can be read."""

_LINES_BEFORE_OFFSETS: Final = 2
"""The version of the file's format, and what Spark remembers of the batch besides offsets."""
_LOG_OFFSET: Final = "logOffset"
"""A source of files says which entry of its own log is the batch; other files may come under the same number."""


class UnknownBatch(OttlaError):
    """The checkpoint cannot be read, so that nobody could tell a repeated batch from another one."""

    def __init__(self, checkpoint: str, batch: int | None = None) -> None:
        super().__init__(
            f"{_said(checkpoint, batch)} cannot be read by the Python of the driver, so that a repeated batch could "
            "not be told from another one: set the option checkpointLocation to a directory that it sees as a "
            "file (a local or mounted one), write with ottla.pipeline.write_stream, which reads what Spark "
            "reads, or set delivery=at_least_once"
        )


def batch_digest(query_id: str, checkpoint: str | None, batch: int, read: Read | None) -> str:
    """Return what the coordinator compares when a batch comes again.

    Without a checkpoint that outlives the run there is no repetition. UnknownBatch if there is one, and it cannot be
    read.
    """
    if checkpoint is None:
        return f"{query_id} in a checkpoint of one run"
    text = None if read is None else read(f"offsets/{batch}")
    offsets = [] if text is None else text.splitlines()[_LINES_BEFORE_OFFSETS:]
    if read is None or not offsets:
        raise UnknownBatch(checkpoint, batch)
    told = "\n".join((*offsets, *_logged(offsets, read)))
    return f"{query_id} offsets {hashlib.sha256(told.encode()).hexdigest()}"


def query_id_of(read: Read | None) -> str | None:
    """Return the id of the query that a checkpoint belongs to, where it can be read."""
    if read is None:
        return None
    try:
        found: str = json.loads(read("metadata") or "")["id"]
    except (ValueError, KeyError, TypeError):
        return None
    return found


def local_reader(checkpoint: str | None) -> Read | None:
    """Return how to read a checkpoint that is a directory of this machine, None for any other."""
    directory = _local(checkpoint)
    if directory is None:
        return None

    def read(name: str) -> str | None:
        try:
            return (directory / name).read_text()
        except (OSError, UnicodeDecodeError):
            return None

    return read


def _logged(offsets: list[str], read: Read) -> Iterator[str]:
    for number, line in enumerate(offsets):
        entry = _log_entry(line)
        if entry is not None:
            where = f"sources/{number}/{entry}"
            yield read(where) or read(f"{where}.compact") or ""


def _log_entry(offset: str) -> int | None:
    try:
        found: Any = json.loads(offset)
    except ValueError:
        return None
    return found.get(_LOG_OFFSET) if isinstance(found, dict) else None


def _local(location: str | None) -> Path | None:
    if not location:
        return None
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(location)


def _said(checkpoint: str, batch: int | None) -> str:
    return f"the checkpoint {checkpoint}" if batch is None else f"{checkpoint}/offsets/{batch}"
