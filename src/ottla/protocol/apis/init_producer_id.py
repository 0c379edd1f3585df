"""Pure: InitProducerId (api 22): get a producer id, and an epoch that fences older producers.

Versions: v2 flexible · v3 resume with a known id and epoch (KIP-360) · v5 abortable errors
(KIP-890). Kafka 4.3 keeps v6 unstable (KIP-939).
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, int64, string


class InitProducerIdRequest(Request, key=ApiKey.INIT_PRODUCER_ID):
    """The transactional id, null for an idempotent producer."""

    transactional_id: str | None = string(nullable=True)
    transaction_timeout_ms: int = int32()
    producer_id: int = int64(-1, since=3)
    producer_epoch: int = int16(-1, since=3)


class InitProducerIdResponse(Response, key=ApiKey.INIT_PRODUCER_ID):
    """The producer id and its epoch."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(-1)
    producer_epoch: int = int16()
