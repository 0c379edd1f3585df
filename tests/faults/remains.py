"""What brokers leave behind: the files of their replicas, and what their logs say of elections."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import fastcrc

from ottla.base.ids import TopicPartition
from ottla.storage import checkpoint
from tests.checker.history import Action
from tests.checker.replicas import Batch, Replica
from tests.workload.recorder import Recorder
from tests.workload.worker import key_of

_HEADER: Final = struct.Struct(">qiibIhi16xqh")
_BEHIND_LENGTH: Final = 12
_BEHIND_CRC: Final = 21
_CONTROLLER: Final = re.compile(r" controller elected broker=(\d+) epoch=(\d+)")
_LEADER: Final = re.compile(
    r" leader elected topic=(\S+) partition=(\d+) leader=(-?\d+) epoch=(\d+)"
)


def read_replica(data_dir: Path, node: int, tp: TopicPartition) -> Replica:
    """What the files of a broker that is down hold of a partition."""
    directory = data_dir / f"{tp.topic}-{tp.partition}"
    batches = [
        batch
        for segment in sorted(directory.glob("*.log"))
        for batch in read_segment(segment.read_bytes())
    ]
    high_watermarks = checkpoint.read(str(data_dir), checkpoint.HIGH_WATERMARKS)
    epochs = (directory / "leader-epoch-checkpoint").read_text().split("\n")[2:]
    pairs = [(int(epoch), int(start)) for epoch, start in map(str.split, filter(None, epochs))]
    return Replica(node, high_watermarks.get(tp, 0), batches, pairs)


def read_segment(data: bytes) -> Iterator[Batch]:
    """The batches of a file, as far as it has whole ones; their checksums are computed, not believed."""
    position = 0
    while position + _HEADER.size <= len(data):
        base, length, epoch, _, _, _, last, *producer = _HEADER.unpack_from(data, position)
        end = position + _BEHIND_LENGTH + length
        if length <= 0 or end > len(data):
            return
        crc = fastcrc.crc32.iscsi(data[position + _BEHIND_CRC : end])
        yield Batch(base, base + last, epoch, crc, *producer)
        position = end


def note_replicas(
    recorder: Recorder, data_dirs: dict[int, Path], partitions: list[TopicPartition]
) -> None:
    """Write down what the files of all brokers hold."""
    for node, data_dir in data_dirs.items():
        for tp in partitions:
            replica = read_replica(data_dir, node, tp)
            recorder.note(
                "files",
                Action.REPLICA,
                node=node,
                keys=frozenset({key_of(*tp)}),
                facts=replica.facts(),
            )


def note_elections(recorder: Recorder, node: int, log: str) -> None:
    """Write down whom a broker elected, as its log tells."""
    for broker, epoch in _CONTROLLER.findall(log):
        facts = {"epoch": int(epoch), "elected": int(broker)}
        recorder.note("logs", Action.ELECTION, node=node, facts=facts)
    for topic, partition, leader, epoch in _LEADER.findall(log):
        recorder.note(
            "logs",
            Action.ELECTION,
            node=node,
            keys=frozenset({key_of(topic, int(partition))}),
            facts={"epoch": int(epoch), "elected": int(leader)},
        )
