"""AddOffsetsToTxn (api 25, v0-v4).

Versions: v2 PRODUCER_FENCED · v3 flexible · v4 TRANSACTION_ABORTABLE.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from ottla.base.errors import ApiError, ClusterError
from ottla.base.ids import TopicPartition
from ottla.broker import internal_topics
from ottla.broker.context import RequestContext
from ottla.broker.later import answer_of, ask
from ottla.broker.reply import Pending
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import Producer
from ottla.protocol.apis.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ottla.protocol.errors import ErrorCode

_FIRST_WITH_FENCED: Final = 2


def handle(
    context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Pending | Coroutine[Any, Any, AddOffsetsToTxnResponse]:
    """Add the partition that keeps the group's offsets to the transaction."""
    if not request.transactional_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    if not request.group_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    index = context.broker.groups.partition_of(request.group_id)
    if index is None:
        return _make_offsets_topic(context, request)
    return ask(
        context,
        lambda token: _submit(context, request, index, token),
        lambda answer: _response(context, answer),
    )


def _submit(
    context: RequestContext, request: AddOffsetsToTxnRequest, index: int, token: Token
) -> None:
    partition = TopicPartition(internal_topics.GROUPS_TOPIC, index)
    producer = Producer(request.producer_id, request.producer_epoch)
    connection = context.connection.number

    def decide(shard: TransactionShard, now_ms: int) -> Decision:
        transactional_id = request.transactional_id
        return shard.add(transactional_id, producer, [partition], 0, token, now_ms, connection)

    context.broker.transactions.write(request.transactional_id, decide)


async def _make_offsets_topic(
    context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    """Nobody has asked for a group coordinator yet; not all clients would come back when there is one."""
    broker = context.broker
    try:
        await internal_topics.ensure(broker, internal_topics.GROUPS_TOPIC)
    except (ApiError, ClusterError):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    index = broker.groups.partition_of(request.group_id)
    if index is None:  # the controller has made it, and this broker has not heard of it yet
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    try:
        await answer_of(broker, lambda token: _submit(context, request, index, token))
    except ApiError as refused:
        return _response(context, refused)
    return AddOffsetsToTxnResponse()


def _response(context: RequestContext, answer: Any) -> AddOffsetsToTxnResponse:
    if not isinstance(answer, ApiError):
        return AddOffsetsToTxnResponse()
    code = answer.code
    if code == ErrorCode.PRODUCER_FENCED and context.version < _FIRST_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)
