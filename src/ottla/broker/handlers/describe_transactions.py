"""DescribeTransactions (api 65, v0).

Versions: v0 only (KIP-664).
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.coordination.transactions.state import by_topic
from ottla.protocol.apis.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: DescribeTransactionsRequest) -> Pending:
    """Show what is known of each transactional id."""
    ids = request.transactional_ids
    submits = [_submit(context, transactional_id) for transactional_id in ids]
    return ask_each(
        context,
        submits,
        lambda answers: DescribeTransactionsResponse(
            transaction_states=[_state(*pair) for pair in zip(ids, answers, strict=True)]
        ),
    )


def _submit(context: RequestContext, transactional_id: str) -> Callable[[Token], None]:
    def submit(token: Token) -> None:
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        context.broker.transactions.read(
            transactional_id, lambda shard, _: shard.transactions.get(transactional_id), token
        )

    return submit


def _state(transactional_id: str, found: Any) -> TransactionState:
    if found is None:
        found = ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    if isinstance(found, ApiError):
        return TransactionState(error_code=found.code, transactional_id=transactional_id)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=found.state.label,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_ms,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=[
            TopicData(topic=topic, partitions=partitions)
            for topic, partitions in by_topic(found.partitions).items()
        ],
    )
