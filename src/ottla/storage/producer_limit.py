"""Pure: how many producers all partitions of a broker remember, and who is forgotten when there are more.

Everybody may ask for any number of producer ids, and Kafka remembers each for a day on every partition it wrote to.
Here a newcomer over the limit takes the place of the one that was silent for longest among the next few, going round:
near enough to the longest of all, at the price of looking at a handful.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.storage.producer_state import ProducerState

_LOOKED_AT: Final = 32
# More than one for each newcomer, so that a limit that was passed while loading is kept again in time.
_FORGOTTEN_AT_ONCE: Final = 2


class ProducerLimit:
    """The producers of all partitions together; a partition counts for as long as it belongs here."""

    __slots__ = ("_at", "_states", "count", "forgotten", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.forgotten = 0
        # Partitions that have producers, the next to be looked at first.
        self._states: OrderedDict[ProducerState, None] = OrderedDict()
        # The row of that partition at which the next look begins.
        self._at = 0

    def adopt(self, state: ProducerState) -> None:
        """The producers of a partition count from now on."""
        state.limit = self
        self.count += len(state)
        if len(state):
            self._states[state] = None

    def release(self, state: ProducerState) -> None:
        """The partition is gone, or its producers are others."""
        if state.limit is self:
            state.limit = None
            self.count -= len(state)
            self._drop(state)

    def admit(self, state: ProducerState) -> None:
        """Count a newcomer, which is not yet among the producers of its partition; forget others for it."""
        for _ in range(_FORGOTTEN_AT_ONCE):
            if self.count < self.limit or not self._forget_one():
                break
        self.count += 1
        if not len(state):
            self._states[state] = None

    def removed(self, state: ProducerState) -> None:
        """A producer of a partition was forgotten."""
        self.count -= 1
        if not len(state):
            self._drop(state)

    def _drop(self, state: ProducerState) -> None:
        if state in self._states:
            if next(iter(self._states)) is state:
                self._at = 0
            del self._states[state]

    def _forget_one(self) -> bool:
        """Forget one that is idle; False if all that were looked at have a transaction open."""
        left, oldest_ms, oldest = _LOOKED_AT, 0, None
        for _ in range(len(self._states)):
            state, begin = next(iter(self._states)), self._at
            end = min(begin + left, len(state))
            found = state.idlest(begin, end)
            if found is not None and (oldest is None or found.timestamp < oldest_ms):
                oldest_ms, oldest = found.timestamp, (state, found.producer_id)
            left -= end - begin
            if end < len(state):
                self._at = end
            else:
                self._at = 0
                self._states.move_to_end(state)
            if left <= 0:
                break
        if oldest is None:
            return False
        state, producer_id = oldest
        state.forget(producer_id)
        self.forgotten += 1
        return True
