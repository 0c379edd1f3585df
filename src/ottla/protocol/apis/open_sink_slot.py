"""Pure: OpenSinkSlot (api 10111, ottla's own): a task attempt is about to write its part of a batch.

Whoever asks again is given the same answer, and the sink's time-out begins anew. SINK_ALREADY_COMMITTED: the batch is
the last that was committed; CHECKPOINT_BEHIND_SINK: it is older; SINK_FENCED: the generation is not the current one.
Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, int64, string


class OpenSinkSlotRequest(Request, key=ApiKey.OPEN_SINK_SLOT):
    """What tells a slot from all others."""

    sink_id: str = string()
    generation: int = int32()
    batch: int = int64()
    partition: int = int32()
    """Of the job, not of a topic."""
    attempt: int = int64()


class OpenSinkSlotResponse(Response, key=ApiKey.OPEN_SINK_SLOT):
    """The producer with which the slot writes: it begins a transaction, and never ends it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    transactional_id: str = string()
    producer_id: int = int64(-1)
    producer_epoch: int = int16(-1)
