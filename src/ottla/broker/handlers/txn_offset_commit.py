"""TxnOffsetCommit (api 28, v0-v5).

Versions: v2 leader epoch · v3 flexible, member and generation (KIP-447) · v4 TRANSACTION_ABORTABLE · v5 the offsets
join the transaction without an AddOffsetsToTxn before (KIP-890).
Differs from Apache Kafka: partitions are answered in the order of the request, not those with errors first.
"""

from __future__ import annotations

from typing import Any

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.broker.internal_topics import GROUPS_TOPIC
from ottla.broker.later import ask
from ottla.broker.partition_answers import error_codes, existing
from ottla.broker.reply import Pending
from ottla.broker.transaction_entry import enter, told
from ottla.cluster.image import TopicImage
from ottla.coordination.decision import Token, Transactional
from ottla.coordination.groups.offset_requests import Commit, commit
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.coordination.transactions.state import Producer
from ottla.protocol.apis.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID

_FIRST_THAT_KNOWS_LOADING = 2
_FIRST_WITH_ABORTABLE = 4
_FIRST_THAT_ADDS = 5


def handle(
    context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Pending:
    """Keep positions of a group when the producer's transaction commits."""
    image = context.broker.metadata.image
    topics = [image.topics.get(topic.name) for topic in request.topics]
    asked = _commit(context, request, topics)
    if not request.group_id:
        return _response(request, topics, ApiError(ErrorCode.INVALID_GROUP_ID))
    if not asked.topics:
        return _response(request, topics, ())
    return ask(
        context,
        lambda token: _enter_and_commit(context, request, asked, token),
        lambda answer: _response(request, topics, _understood(context, answer)),
    )


def _enter_and_commit(
    context: RequestContext, request: TxnOffsetCommitRequest, asked: Commit, token: Token
) -> None:
    """The offsets are kept only in a transaction that will end: its marker decides over them."""
    broker = context.broker
    adds = context.version >= _FIRST_THAT_ADDS

    def write() -> None:
        try:
            broker.groups.write(
                request.group_id, lambda shard, now_ms: commit(shard, asked, token, now_ms)
            )
        except ApiError as refused:
            token(refused)

    def refuse(refused: ApiError) -> None:
        abortable = context.version >= _FIRST_WITH_ABORTABLE
        unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
        token(told(refused, adds=adds, knows_abortable=abortable, unavailable=unavailable))

    index = broker.groups.partition_of(request.group_id)
    if index is None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{GROUPS_TOPIC} does not exist yet")
    enter(
        broker,
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        TopicPartition(GROUPS_TOPIC, index),
        adds=adds,
        refuse=refuse,
        then=write,
    )


def _commit(
    context: RequestContext, request: TxnOffsetCommitRequest, topics: list[TopicImage | None]
) -> Commit:
    wanted = [
        # Without the topic's id, which Kafka does not keep here either: the request does not carry it.
        TopicToCommit(found.name, ZERO_UUID, partitions)
        for topic, found in zip(request.topics, topics, strict=True)
        if found is not None and (partitions := existing(found, topic.partitions))
    ]
    return Commit(
        group_id=request.group_id,
        topics=wanted,
        version=context.version,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        client_id=context.client_id or "",
        transactional=Transactional(request.producer_id, request.producer_epoch),
    )


def _understood(context: RequestContext, answer: Any) -> Any:
    """Producers before 2.3 take COORDINATOR_LOAD_IN_PROGRESS for the end of everything (KAFKA-7296)."""
    if (
        isinstance(answer, ApiError)
        and answer.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        and context.version < _FIRST_THAT_KNOWS_LOADING
    ):
        return ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, answer.message)
    return answer


def _response(
    request: TxnOffsetCommitRequest, topics: list[TopicImage | None], answer: Any
) -> TxnOffsetCommitResponse:
    named = [(found, topic.partitions) for topic, found in zip(request.topics, topics, strict=True)]
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                    for each, code in zip(topic.partitions, codes, strict=True)
                ],
            )
            for topic, codes in zip(request.topics, error_codes(named, answer), strict=True)
        ]
    )
