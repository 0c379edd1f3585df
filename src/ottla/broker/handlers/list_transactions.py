"""ListTransactions (api 66, v0-v2).

Versions: v1 those that run longer than a time · v2 transactional ids by pattern (KIP-1152).
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.coordination.groups.topic_pattern import BadPattern, TopicPattern
from ottla.coordination.transactions.state import STATES_BY_LABEL, Transaction
from ottla.protocol.apis.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    """List the transactional ids that pass all filters."""
    try:
        chosen = _Filter(request, context.broker.now_ms())
        found = [
            (transactional_id, transaction)
            for shard in context.broker.transactions.shards()
            for transactional_id, transaction in shard.transactions.items()
            if chosen(transactional_id, transaction)
        ]
    except BadPattern:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    except ApiError as why:
        return ListTransactionsResponse(error_code=why.code)
    return ListTransactionsResponse(
        unknown_state_filters=[
            state for state in request.state_filters if state not in STATES_BY_LABEL
        ],
        transaction_states=[
            TransactionState(
                transactional_id=transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.label,
            )
            for transactional_id, transaction in found
        ],
    )


class _Filter:
    """What the request asks for; what it leaves empty lets everything pass."""

    def __init__(self, request: ListTransactionsRequest, now_ms: int) -> None:
        self._states = set(request.state_filters)
        self._producer_ids = set(request.producer_id_filters)
        self._began_before_ms = None
        if request.duration_filter >= 0:
            self._began_before_ms = now_ms - request.duration_filter
        pattern = request.transactional_id_pattern
        self._pattern = TopicPattern(pattern) if pattern else None

    def __call__(self, transactional_id: str, found: Transaction) -> bool:
        if self._states and found.state.label not in self._states:
            return False
        if self._producer_ids and found.producer_id not in self._producer_ids:
            return False
        if self._began_before_ms is not None and found.started_ms >= self._began_before_ms:
            return False
        return self._pattern is None or self._pattern.matches(transactional_id)
