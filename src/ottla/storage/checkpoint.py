"""Kafka's small text files: offset checkpoints of a log directory and the clean-shutdown marker.

A checkpoint is a version (0), a count, then "topic partition offset" lines. Every file is written
beside itself, synced, renamed and the directory synced, so that a crash leaves the old or the new.
"""

import json
from collections.abc import Mapping

from ottla.base.errors import CorruptLog
from ottla.base.ids import TopicPartition
from ottla.storage import fs

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def encode(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The text of a checkpoint."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    return "\n".join(("0", str(len(lines)), *lines, "")).encode()


def decode(data: bytes) -> dict[TopicPartition, int]:
    """Read the text of a checkpoint."""
    try:
        version, count, *lines = data.decode().split("\n")
        if int(version) != 0 or int(count) > len(lines):
            raise ValueError(f"version {version} with {count} of {len(lines)} lines")
        offsets = {}
        for line in lines[: int(count)]:
            topic, partition, offset = line.split(" ")
            offsets[TopicPartition(topic, int(partition))] = int(offset)
    except ValueError as error:
        raise CorruptLog(f"malformed checkpoint: {error}") from error
    return offsets


def read(directory: str, name: str) -> dict[TopicPartition, int]:
    """Read a checkpoint; one that is missing or malformed counts as empty.

    An empty checkpoint is always safe: more is scanned at start, nothing is lost.
    """
    try:
        return decode(fs.read_file(f"{directory}/{name}") or b"0\n0\n")
    except CorruptLog:
        return {}


def write(directory: str, name: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace a checkpoint."""
    fs.write_atomic(f"{directory}/{name}", encode(offsets))


def mark_clean_shutdown(directory: str, broker_epoch: int) -> None:
    """Say that every log of the directory was closed and synced (KIP-966 adds the epoch)."""
    content = {"version": 0, "brokerEpoch": broker_epoch}
    fs.write_atomic(f"{directory}/{CLEAN_SHUTDOWN}", json.dumps(content).encode())


def take_clean_shutdown(directory: str) -> int | None:
    """The broker epoch of a clean shutdown, or None; the marker is gone before any log opens."""
    path = f"{directory}/{CLEAN_SHUTDOWN}"
    data = fs.read_file(path)
    if data is None:
        return None
    fs.unlink([path])
    fs.sync_path(directory)
    try:
        return int(json.loads(data)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return -1
