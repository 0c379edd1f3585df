"""Pure: DescribeTransactions (api 65): the state of transactions (KIP-664).

Versions: v0 only.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Request, key=ApiKey.DESCRIBE_TRANSACTIONS):
    """The transactional ids."""

    transactional_ids: list[str] = array(string)


class TopicData(Struct):
    """An element of DescribeTransactionsResponse.transaction_states.topics."""

    topic: str = string()
    partitions: list[int] = array(int32)


class TransactionState(Struct):
    """An element of DescribeTransactionsResponse.transaction_states."""

    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = array(TopicData)


class DescribeTransactionsResponse(Response, key=ApiKey.DESCRIBE_TRANSACTIONS):
    """The transactions."""

    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = array(TransactionState)
