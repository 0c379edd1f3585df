"""Pure: AddOffsetsToTxn (api 25): add a group's offsets to a transaction.

Versions: v3 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, int64, string


class AddOffsetsToTxnRequest(Request, key=ApiKey.ADD_OFFSETS_TO_TXN):
    """The group whose offsets the transaction will commit."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


class AddOffsetsToTxnResponse(Response, key=ApiKey.ADD_OFFSETS_TO_TXN):
    """Whether the offsets partition was added."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
