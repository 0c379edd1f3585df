"""Directories of partitions that the cluster does not know: set aside, deleted a day later unless a setting keeps them.

A broker that was away while a topic was deleted finds them when it starts. When a directory was set aside stands in a
file within it: its own times tell when records were written.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ottla.base.log import logger
from ottla.base.units import MINUTE_MS
from ottla.storage import fs

log = logger(__name__)

SUFFIX: Final = "-stray"
_SINCE_FILE: Final = "stray-since"
KEEP: Final = -1


class Stray(NamedTuple):
    """A directory that was set aside, and when that was."""

    directory: str
    since_ms: int


def mark(directory: str, now_ms: int) -> Stray:
    """Note when a directory was set aside, unless that is noted already; an older build did not."""
    path = f"{directory}/{_SINCE_FILE}"
    try:
        return Stray(directory, int(fs.read_file(path) or b""))
    except ValueError:
        fs.write_atomic(path, str(now_ms).encode(), sync=False)
        return Stray(directory, now_ms)


def find(log_dir: str, now_ms: int) -> Iterator[Stray]:
    """The directories that were set aside, at this start or before."""
    for name in fs.list_directories(log_dir):
        if name.endswith(SUFFIX):
            yield mark(f"{log_dir}/{name}", now_ms)


def due_in_ms(stray: Stray, retention_ms: int, delete_delay_ms: int, now_ms: int) -> int | None:
    """In how long a directory is to be deleted, which is said; None if it is to be kept."""
    if retention_ms == KEEP:
        log.warning(
            "stray partition kept", directory=stray.directory, because="ottla.stray.retention.ms=-1"
        )
        return None
    left_ms = max(stray.since_ms + retention_ms + delete_delay_ms - now_ms, 0)
    log.warning(
        "stray partition will be deleted",
        directory=stray.directory,
        in_minutes=left_ms // MINUTE_MS,
        unless="it is moved away, or ottla.stray.retention.ms=-1 is set before a restart",
    )
    return left_ms
