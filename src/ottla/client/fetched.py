"""Pure: what one fetch brought of a partition, decoded a batch at a time when somebody wants it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import ConsumerRecord, Deserializers, read_batch
from ottla.client.errors import UnreadableRecord
from ottla.client.isolation import Isolation
from ottla.protocol.records.batch import Buffer, crc_of, iter_headers


class Taken(NamedTuple):
    """Records of one batch, the offset and the leader epoch to go on from, and why not all could be read."""

    records: list[ConsumerRecord]
    end_offset: int
    epoch: int
    failure: UnreadableRecord | None = None


class Fetched:
    """Whole batches of one partition; with `aborted` given, only what was committed is read.

    `aborted` holds the producer id and first offset of each aborted transaction in these batches.
    """

    __slots__ = (
        "_batches",
        "_data",
        "_isolation",
        "_target",
        "end_offset",
        "last_epoch",
    )

    def __init__(
        self,
        target: TopicPartition,
        data: Buffer,
        from_offset: int,
        aborted: list[tuple[int, int]] | None = None,
    ) -> None:
        self._target = target
        self._data = data
        self._batches = deque(iter_headers(data))
        self._isolation = Isolation(aborted)
        self.end_offset = from_offset
        self.last_epoch = -1
        if self._batches:
            last = self._batches[-1][1]
            self.end_offset, self.last_epoch = last.last_offset + 1, last.leader_epoch

    def __bool__(self) -> bool:
        return bool(self._batches)

    def take(self, from_offset: int, deserializers: Deserializers, check_crcs: bool) -> Taken:
        """The records of the next batch from an offset on, up to the first that cannot be read."""
        pos, header = self._batches.popleft()
        after, epoch = header.last_offset + 1, header.leader_epoch
        if after <= from_offset:
            return Taken([], from_offset, epoch)
        if check_crcs and crc_of(self._data, pos, header.size_bytes) != header.crc:
            begin = max(from_offset, header.base_offset)
            damaged = UnreadableRecord(
                f"the batch of {self._target} at offset {header.base_offset} fails its checksum; "
                f"seek to offset {after} to pass over it",
                self._target,
                begin,
                after,
            )
            return Taken([], begin, epoch, damaged)
        if self._isolation.hides(self._data, pos, header):
            return Taken([], after, epoch)
        topic, partition = self._target
        try:
            records, failure = read_batch(
                self._data, pos, header, topic, partition, from_offset, deserializers
            )
        except UnreadableRecord as damaged:
            return Taken([], damaged.offset, epoch, damaged)
        return Taken(records, after if failure is None else failure.offset, epoch, failure)
