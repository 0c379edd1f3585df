"""AddPartitionsToTxn (api 24, v0-v5).

Versions: v2 PRODUCER_FENCED · v3 flexible · v4 from brokers: several transactions, to add to or only to look at
(KIP-890) · v5 TRANSACTION_ABORTABLE.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import FIRST_WITH_EPOCH_BUMP, Producer
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.errors import ErrorCode

_FIRST_WITH_FENCED: Final = 2
_FIRST_BATCHED: Final = 4
_FIRST_WITH_ABORTABLE: Final = 5

Submit = Callable[[Token], None]


def handle(context: RequestContext, request: AddPartitionsToTxnRequest) -> Pending:
    """Add partitions to transactions, or say which are in them."""
    transactions = _transactions(context, request)
    submits = [_submit(context, transaction) for transaction in transactions]

    def render(answers: list[Any]) -> AddPartitionsToTxnResponse:
        results = [
            _topic_results(context, transaction, answer)
            for transaction, answer in zip(transactions, answers, strict=True)
        ]
        if context.version < _FIRST_BATCHED:
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0])
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=transaction.transactional_id, topic_results=result
                )
                for transaction, result in zip(transactions, results, strict=True)
            ]
        )

    return ask_each(context, submits, render)


def _transactions(
    context: RequestContext, request: AddPartitionsToTxnRequest
) -> list[AddPartitionsToTxnTransaction]:
    """The one transaction of a client's request, as a broker would name it."""
    if context.version >= _FIRST_BATCHED:
        return request.transactions
    return [
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
    ]


def _submit(context: RequestContext, transaction: AddPartitionsToTxnTransaction) -> Submit:
    """The answer is None, an ApiError for all partitions, or an error code for each."""
    partitions = set(_partitions(transaction.topics))
    unknown = _unknown(context, partitions)
    transactional_id = transaction.transactional_id
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    coordinator = context.broker.transactions
    version = FIRST_WITH_EPOCH_BUMP if context.version >= _FIRST_BATCHED else 0
    connection = 0 if version else context.connection.number

    def verify(token: Token) -> None:
        coordinator.read(
            transactional_id,
            lambda shard, _: shard.verify(transactional_id, producer, partitions),
            token,
        )

    def add(token: Token) -> None:
        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            return shard.add(
                transactional_id, producer, partitions, version, token, now_ms, connection
            )

        coordinator.write(transactional_id, decide)

    def refuse(token: Token) -> None:
        token(unknown if transactional_id else ApiError(ErrorCode.INVALID_REQUEST))

    if not transactional_id or unknown:
        return refuse
    return verify if transaction.verify_only else add


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> Iterable[TopicPartition]:
    return (TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def _unknown(context: RequestContext, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
    """All or nothing: where one partition does not exist, the others are not attempted."""
    topics = context.broker.metadata.image.topics
    missing = {
        tp
        for tp in partitions
        if tp.topic not in topics or not 0 <= tp.partition < len(topics[tp.topic].partitions)
    }
    if not missing:
        return {}
    gone, kept = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    return {tp: gone if tp in missing else kept for tp in partitions}


def _topic_results(
    context: RequestContext, transaction: AddPartitionsToTxnTransaction, answer: Any
) -> list[AddPartitionsToTxnTopicResult]:
    def code(tp: TopicPartition) -> int:
        if answer is None:
            return ErrorCode.NONE
        return _told(context, answer.code if isinstance(answer, ApiError) else answer[tp])

    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=code(TopicPartition(topic.name, index)),
                )
                for index in topic.partitions
            ],
        )
        for topic in transaction.topics
    ]


def _told(context: RequestContext, code: int) -> int:
    if code == ErrorCode.PRODUCER_FENCED and context.version < _FIRST_WITH_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.TRANSACTION_ABORTABLE and context.version < _FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return code
