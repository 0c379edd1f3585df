"""Pure: whether a transaction was still open all the while its coordinator was being asked about it (KIP-890).

A write is verified with a coordinator that may be another broker, and is appended later: an answer is on its way, or a
batch is looked into by a thread. If the transaction is ended in between, the write must not land behind the marker,
where the producer's next commit would make it visible. So whoever asks holds a guard, and a marker takes it away.
"""

from __future__ import annotations

from weakref import WeakValueDictionary


class Guard:
    """Held by the writes of one producer that wait to be appended; it is forgotten with the last of them."""

    __slots__ = ("__weakref__",)


class Guards:
    """The guards of one partition, by producer id."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: WeakValueDictionary[int, Guard] = WeakValueDictionary()

    def begin(self, producer_id: int) -> Guard:
        """The guard of a producer, to be taken before the coordinator is asked."""
        guard = self._held.get(producer_id)
        if guard is None:
            guard = self._held[producer_id] = Guard()
        return guard

    def holds(self, producer_id: int, guard: Guard) -> bool:
        """Return whether no marker of the producer was appended since its guard was taken."""
        return self._held.get(producer_id) is guard

    def end(self, producer_id: int) -> None:
        """Take note that a marker of the producer was appended."""
        self._held.pop(producer_id, None)
