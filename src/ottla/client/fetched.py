"""Pure: what one fetch brought of a partition, decoded a batch at a time when somebody wants it."""

from __future__ import annotations

from collections import deque

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import ConsumerRecord, Deserializers, read_batch
from ottla.protocol.records.batch import BatchHeader, Buffer, crc_of, iter_headers
from ottla.protocol.records.control import read_end_transaction_marker


class Fetched:
    """Whole batches of one partition; with `aborted` given, only what was committed is read.

    `aborted` holds the producer id and first offset of each aborted transaction in these batches.
    """

    __slots__ = (
        "_aborted",
        "_aborting",
        "_batches",
        "_data",
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
        self._aborted = None if aborted is None else deque(sorted(aborted, key=lambda a: a[1]))
        self._aborting: set[int] = set()
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
        if self._is_hidden(pos, header):
            return [], after
        topic, partition = self._target
        return (
            read_batch(self._data, pos, header, topic, partition, from_offset, deserializers),
            after,
        )

    def _is_hidden(self, pos: int, header: BatchHeader) -> bool:
        """Whether the batch is a marker, or belongs to an aborted transaction."""
        if self._aborted is not None and header.is_transactional:
            while self._aborted and self._aborted[0][1] <= header.last_offset:
                self._aborting.add(self._aborted.popleft()[0])
            if header.is_control:
                marker = read_end_transaction_marker(self._data, pos)
                if marker is not None and not marker.committed:
                    self._aborting.discard(header.producer_id)
            elif header.producer_id in self._aborting:
                return True
        return header.is_control
