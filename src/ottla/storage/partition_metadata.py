"""The partition.metadata file: which incarnation of a topic a directory belongs to."""

import uuid

from ottla.base.errors import CorruptLog
from ottla.base.ids import id_text, parse_id
from ottla.storage import fs

FILE_NAME = "partition.metadata"


def write_topic_id(directory: str, topic_id: uuid.UUID) -> None:
    """Record the topic id of a new partition directory; its first flush syncs the file."""
    text = f"version: 0\ntopic_id: {id_text(topic_id)}\n"
    fs.write_atomic(f"{directory}/{FILE_NAME}", text.encode(), sync=False)


def read_topic_id(directory: str) -> uuid.UUID | None:
    """The topic id of a partition directory, or None when it was never recorded."""
    data = fs.read_file(f"{directory}/{FILE_NAME}")
    if not data:
        # A power cut before the first flush may leave the file empty, or none.
        return None
    try:
        pairs = dict(line.split(": ", 1) for line in data.decode().splitlines() if line)
        if pairs["version"] != "0":
            raise ValueError(f"unknown version {pairs['version']}")
        return parse_id(pairs["topic_id"])
    except (ValueError, KeyError) as error:
        raise CorruptLog(
            f"{directory}/{FILE_NAME}: {error}; delete it to take the id anew"
        ) from error
