"""Pure: ListTransactions (api 66): the transactions that a broker coordinates (KIP-664).

Versions: v1 by duration · v2 by pattern.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class ListTransactionsRequest(Request, key=ApiKey.LIST_TRANSACTIONS):
    """Filters, empty for all."""

    state_filters: list[str] = array(string)
    producer_id_filters: list[int] = array(int64)
    duration_filter: int = int64(-1, since=1)
    transactional_id_pattern: str | None = string(None, since=2, nullable=True)


class TransactionState(Struct):
    """An element of ListTransactionsResponse.transaction_states."""

    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


class ListTransactionsResponse(Response, key=ApiKey.LIST_TRANSACTIONS):
    """The transactions."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array(string)
    transaction_states: list[TransactionState] = array(TransactionState)
