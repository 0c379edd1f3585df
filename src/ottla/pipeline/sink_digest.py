"""By what a batch of a stream is known again: its query, and the offsets of its sources or else how many rows it had.

Not by its rows where the offsets can be read: a batch that is repeated after its job was changed, or that has some
chance in it, has other rows, and yet counts as written, as it does in every other sink of Spark. The query's id tells a
checkpoint that was begun anew, whose offsets may look like the old ones.

Whether they can be read may change from run to run, say because the option checkpointLocation was added to a job that
had its directory from Spark's settings: a batch that was committed by its rows is known again by them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINES_BEFORE_OFFSETS = 2
"""The version of the file's format, and what Spark remembers of the batch besides offsets."""


def batch_digest(query_id: str, checkpoint_location: str | None, batch: int, rows: int) -> str:
    """What the coordinator compares when a batch comes again; a person can read it, too."""
    offsets = _source_offsets(checkpoint_location, batch)
    if offsets is None:
        return row_digest(query_id, rows)
    return f"{query_id} offsets {hashlib.sha256(offsets.encode()).hexdigest()}"


def row_digest(query_id: str, rows: int) -> str:
    """The same where offsets cannot be read."""
    return f"{query_id} rows {rows}"


def query_id_of(checkpoint_location: str | None) -> str | None:
    """The id of the query that a checkpoint belongs to, where it can be read."""
    directory = _local(checkpoint_location)
    if directory is None:
        return None
    try:
        found: str = json.loads((directory / "metadata").read_text())["id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _source_offsets(checkpoint_location: str | None, batch: int) -> str | None:
    directory = _local(checkpoint_location)
    if directory is None:
        return None
    try:
        lines = (directory / "offsets" / str(batch)).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return "\n".join(lines[_LINES_BEFORE_OFFSETS:]) or None


def _local(location: str | None) -> Path | None:
    if not location:
        return None
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(location)
