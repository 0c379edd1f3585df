"""Pure: DescribeSinks (api 10114, ottla's own): the sinks that a coordinator knows, or those that are named.

Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class DescribeSinksRequest(Request, key=ApiKey.DESCRIBE_SINKS):
    """Which sinks; None for all that the broker coordinates."""

    sink_ids: list[str] | None = array(string, nullable=True)


class OpenSlot(Struct):
    """An element of DescribeSinksResponse.sinks.slots."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    batch: int = int64()
    partition: int = int32()
    attempt: int = int64()
    state: str = string()
    """In Kafka's words: Empty, Ongoing, PrepareCommit, PrepareAbort."""


class DescribedSink(Struct):
    """An element of DescribeSinksResponse.sinks."""

    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    sink_id: str = string()
    run_id: str = string()
    generation: int = int32(-1)
    committed_batch: int = int64(-1)
    committed_digest: str = string()
    ephemeral: bool = boolean()
    timeout_ms: int = int32()
    updated_ms: int = int64(-1)
    slots: list[OpenSlot] = array(OpenSlot)


class DescribeSinksResponse(Response, key=ApiKey.DESCRIBE_SINKS):
    """What is known of them."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    sinks: list[DescribedSink] = array(DescribedSink)
