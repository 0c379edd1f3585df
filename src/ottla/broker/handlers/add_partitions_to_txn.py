"""AddPartitionsToTxn (api 24, v0-v5).

Versions: v2 PRODUCER_FENCED · v3 flexible · v4 from brokers: several transactions, to add to or only to look at
(KIP-890) · v5 TRANSACTION_ABORTABLE.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each, ask_raw
from ottla.broker.reply import Reply
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import FIRST_WITH_EPOCH_BUMP, Producer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.codec import decode_request, encode_response
from ottla.protocol.errors import ErrorCode
from ottla.protocol.header import answer_again

_KEY: Final = int(ApiKey.ADD_PARTITIONS_TO_TXN)
_FIRST_WITH_FENCED: Final = 2
_FIRST_BATCHED: Final = 4
_FIRST_WITH_ABORTABLE: Final = 5
_MOST_REMEMBERED: Final = 64

Submit = Callable[[Token], None]


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Add partitions to transactions, or say which are in them."""
    request: AddPartitionsToTxnRequest = decode_request(
        _KEY, context.version, frame, pos, len(frame)
    )
    if context.version < _FIRST_BATCHED:
        return _add_one(context, request)
    transactions = request.transactions

    def render(answers: list[Any]) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=transaction.transactional_id,
                    topic_results=_topic_results(context, transaction.topics, answer),
                )
                for transaction, answer in zip(transactions, answers, strict=True)
            ]
        )

    return ask_each(context, [_submit(context, each) for each in transactions], render)


def _add_one(context: RequestContext, request: AddPartitionsToTxnRequest) -> Reply:
    """What clients send: one transaction, named as a broker would name it."""
    topics = request.v3_and_below_topics
    submit = _submit(
        context,
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=topics,
        ),
    )

    def render(answer: Any) -> AddPartitionsToTxnResponse | bytearray:
        if answer is None and len(topics) == 1 and len(topics[0].partitions) <= _MOST_REMEMBERED:
            added = _all_added(context.version, topics[0].name, *topics[0].partitions)
            return answer_again(added, context.correlation_id)
        results = _topic_results(context, topics, answer)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    return ask_raw(context, submit, render)


@lru_cache(maxsize=1024)
def _all_added(version: int, topic: str, *partitions: int) -> bytes:
    """The frame that says so: a producer adds the same partitions to every transaction."""
    added = [AddPartitionsToTxnPartitionResult(partition_index=index) for index in partitions]
    result = AddPartitionsToTxnTopicResult(name=topic, results_by_partition=added)
    response = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[result])
    return bytes(encode_response(response, version, 0))


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
    context: RequestContext, topics: Iterable[AddPartitionsToTxnTopic], answer: Any
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
        for topic in topics
    ]


def _told(context: RequestContext, code: int) -> int:
    if code == ErrorCode.PRODUCER_FENCED and context.version < _FIRST_WITH_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.TRANSACTION_ABORTABLE and context.version < _FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return code
