"""Pure: the producers that a log has refused for lack of space, and what their next batches are told.

A batch whose predecessor found no space is not out of order: it is to be sent again behind that one. A client that is
told otherwise gives itself another epoch and sends all that is under way once more, to other partitions too, where some
of it may have been written.
"""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError, DiskFull, OttlaError
from ottla.base.units import MINUTE_MS
from ottla.protocol.errors import ErrorCode

# A client that has not sent the batch again by then never will, and is not to try for ever.
_PATIENCE_MS: Final = MINUTE_MS


class StarvedProducers:
    """Who was refused, and when."""

    __slots__ = ("_since_ms",)

    def __init__(self) -> None:
        self._since_ms: dict[int, int] = {}

    def refused(self, producer_id: int, now_ms: int) -> None:
        """There was no space for a batch of the producer."""
        self._since_ms[producer_id] = now_ms

    def fed(self, producer_id: int) -> None:
        """The producer has got a batch in."""
        if self._since_ms:
            self._since_ms.pop(producer_id, None)

    def reason(self, refusal: ApiError, producer_id: int, now_ms: int) -> OttlaError:
        """Why a batch cannot be taken: what was found wrong with it, or that its predecessor found no space."""
        since_ms = self._since_ms.get(producer_id)
        if (
            refusal.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            and since_ms is not None
            and now_ms - since_ms < _PATIENCE_MS
        ):
            return DiskFull("there was no space for the batch before this one")
        return refusal
