"""Pure: what one fetch brought of a partition, decoded a batch at a time when somebody wants it."""

from __future__ import annotations

from collections import deque

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import ConsumerRecord, Deserializers, read_batch
from ottla.client.isolation import Isolation
from ottla.protocol.records.batch import Buffer, crc_of, iter_headers


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

    def take(
        self, from_offset: int, deserializers: Deserializers, check_crcs: bool
    ) -> tuple[list[ConsumerRecord], int]:
        """The records of the next batch from an offset on, and the offset behind the batch."""
        pos, header = self._batches.popleft()
        after = header.last_offset + 1
        if after <= from_offset:
            return [], from_offset
        if check_crcs and crc_of(self._data, pos, header.size_bytes) != header.crc:
            raise ProtocolError(
                f"the batch of {self._target} at offset {header.base_offset} fails its checksum; "
                f"seek to offset {after} to pass over it"
            )
        if self._isolation.hides(self._data, pos, header):
            return [], after
        topic, partition = self._target
        return (
            read_batch(self._data, pos, header, topic, partition, from_offset, deserializers),
            after,
        )
