"""What the broker and its cleaner process tell each other, one line of JSON at a time."""

import json
from base64 import b64decode, b64encode
from typing import NamedTuple

from ottla.storage.txn_index import AbortedTxn


class Job(NamedTuple):
    """All that the compaction of one log depends on.

    `segments` are (base offset, end offset, size) of every sealed segment below the offset up to
    which the log may be compacted; `later_aborted` are the aborted transactions noted behind it;
    `producers` is a producer snapshot.
    """

    directory: str
    segments: list[tuple[int, int, int]]
    first_dirty_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    memory_bytes: int
    io_bytes_per_second: float
    later_aborted: list[AbortedTxn]
    producers: bytes


class Progress(NamedTuple):
    """Bytes read and written since the last report, so that the broker can call it off."""

    bytes_read: int
    bytes_written: int


class Replacement(NamedTuple):
    """Old segments, by base offset, and the base offset of the one that may take their place."""

    old: list[int]
    new: int


class Cleaned(NamedTuple):
    """The log is compacted up to here; what lies behind is still dirty."""

    end_offset: int


class Failed(NamedTuple):
    """The log could not be compacted: the name of the error, and what it says."""

    error: str
    text: str


Event = Progress | Replacement | Cleaned | Failed

_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Progress, Replacement, Cleaned, Failed)
}


def encode_job(job: Job) -> bytes:
    """The line that gives a job to the cleaner."""
    fields = {**job._asdict(), "producers": b64encode(job.producers).decode()}
    return json.dumps(fields).encode() + b"\n"


def decode_job(line: bytes) -> Job:
    """The job in a line."""
    fields = json.loads(line)
    fields["producers"] = b64decode(fields["producers"])
    fields["later_aborted"] = [AbortedTxn(*each) for each in fields["later_aborted"]]
    fields["segments"] = [tuple(each) for each in fields["segments"]]
    return Job(**fields)


def encode_event(event: Event) -> bytes:
    """The line that tells the broker of an event."""
    return json.dumps([type(event).__name__, *event]).encode() + b"\n"


def decode_event(line: bytes) -> Event:
    """The event in a line."""
    kind, *fields = json.loads(line)
    return _KINDS[kind](*fields)
