"""Pure: OpenSink (api 10110, ottla's own): a run of a job is about to write to a sink.

The coordinator is that of the transactional id that reads like the sink's. The first time that a run is seen it becomes
the current one, gets the next generation, and whatever older runs have left open is aborted. A run that was current
once and is not any more gets SINK_FENCED. Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class OpenSinkRequest(Request, key=ApiKey.OPEN_SINK):
    """Which sink, and who asks."""

    sink_id: str = string()
    run_id: str = string()
    timeout_ms: int = int32()
    """For how long after a sign of life of any of its slots a batch may stay open."""
    ephemeral: bool = boolean()
    """Whether the sink is forgotten once its batch is complete: a batch write that cannot be repeated."""


class OpenSinkResponse(Response, key=ApiKey.OPEN_SINK):
    """Where the sink stands."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    generation: int = int32(-1)
    committed_batch: int = int64(-1)
    committed_digest: str = string()
