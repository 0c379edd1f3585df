"""Which transactions still have data while a log is compacted from its start.

Data of aborted transactions go at once. The marker that ended a transaction may go, after its
delete horizon, only when a pass from the start of the log has met no batch of that transaction.
"""

from bisect import bisect_right
from collections.abc import Iterable

from ottla.protocol.records.batch import BatchHeader
from ottla.protocol.records.control import EndTransactionMarker
from ottla.storage.txn_index import AbortedTxn


class CleanedTransactions:
    """The transactions of a log, met in the order of its batches."""

    __slots__ = ("_aborted", "_seen_aborted", "_seen_committed")

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        self._aborted: dict[int, list[AbortedTxn]] = {}
        for txn in sorted(aborted, key=lambda each: each.first_offset):
            self._aborted.setdefault(txn.producer_id, []).append(txn)
        self._seen_aborted: set[AbortedTxn] = set()
        self._seen_committed: set[int] = set()

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether the data of a batch were given up."""
        return self._aborted_around(header) is not None

    def meet_data(self, header: BatchHeader) -> None:
        """Take note of a batch that holds, or once held, data of a transaction."""
        if not header.is_transactional:
            return
        txn = self._aborted_around(header)
        if txn is not None:
            self._seen_aborted.add(txn)
        else:
            self._seen_committed.add(header.producer_id)

    def meet_marker(self, header: BatchHeader, marker: EndTransactionMarker | None) -> bool:
        """Whether a control batch ends a transaction of which no batch was met."""
        if not header.count:
            return True
        if marker is None:
            return False
        if marker.committed:
            seen = header.producer_id in self._seen_committed
            self._seen_committed.discard(header.producer_id)
            return not seen
        return self.aborted_by(header) not in self._seen_aborted

    def aborted_by(self, header: BatchHeader) -> AbortedTxn | None:
        """The aborted transaction that a marker ended, for the transaction index."""
        txn = self._aborted_around(header)
        return txn if txn is not None and txn.last_offset == header.base_offset else None

    def _aborted_around(self, header: BatchHeader) -> AbortedTxn | None:
        if not header.is_transactional:
            return None
        txns = self._aborted.get(header.producer_id, ())
        number = bisect_right(txns, header.base_offset, key=lambda each: each.first_offset)
        if number and header.base_offset <= txns[number - 1].last_offset:
            return txns[number - 1]
        return None
