"""Pure: EndTxn (api 26): commit or abort a transaction.

Versions: v3 flexible · v5 the producer id and epoch of the next transaction (KIP-890).
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class EndTxnRequest(Request, key=ApiKey.END_TXN):
    """The transaction and its outcome."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


class EndTxnResponse(Response, key=ApiKey.END_TXN):
    """Whether it ended."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(-1, since=5)
    producer_epoch: int = int16(-1, since=5)
