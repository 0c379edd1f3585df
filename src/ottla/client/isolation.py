"""Pure: which batches of a fetch a consumer must not see: markers, and what was aborted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ottla.protocol.records.batch import BatchHeader, Buffer
from ottla.protocol.records.control import read_end_transaction_marker


class Isolation:
    """Walks along with the batches of one fetch; without `aborted` it reads what is not committed, too.

    `aborted` holds the producer id and first offset of each aborted transaction in these batches.
    """

    __slots__ = ("_aborted", "_aborting")

    def __init__(self, aborted: Iterable[tuple[int, int]] | None) -> None:
        self._aborted = None if aborted is None else deque(sorted(aborted, key=lambda a: a[1]))
        self._aborting: set[int] = set()

    def hides(self, data: Buffer, pos: int, header: BatchHeader) -> bool:
        """Whether the next batch is a marker, or belongs to an aborted transaction."""
        if self._aborted is not None and header.is_transactional:
            while self._aborted and self._aborted[0][1] <= header.last_offset:
                self._aborting.add(self._aborted.popleft()[0])
            if header.is_control:
                marker = read_end_transaction_marker(data, pos)
                if marker is not None and not marker.committed:
                    self._aborting.discard(header.producer_id)
            elif header.producer_id in self._aborting:
                return True
        return header.is_control
