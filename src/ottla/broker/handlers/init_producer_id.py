"""InitProducerId (api 22, v0-v5).

Versions: v2 flexible · v3 the producer id and epoch to go on with (KIP-360) · v4 PRODUCER_FENCED · v5
TRANSACTION_ABORTABLE.
Differs from Apache Kafka: a producer that takes over from one with an open transaction is usually served at once, and
not sent away with CONCURRENT_TRANSACTIONS first; a claim with a stale epoch does not abort the owner's transaction.
"""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError, ClusterError
from ottla.broker.context import Broker, RequestContext
from ottla.broker.later import answer_of
from ottla.broker.transaction_entry import check_room
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.state import Producer
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.errors import ErrorCode

_NONE: Final = -1
_FIRST_WITH_FENCED: Final = 4


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Give a producer its id and its epoch.

    An idempotent producer that names the id it had gets a fresh one all the same, as in Kafka: only a transactional id
    tells who may go on with which.
    """
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id == "":
        return _refused(ErrorCode.INVALID_REQUEST)
    try:
        await context.broker.producer_ids.ensure()
    except ClusterError:
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if request.transactional_id is None:
        producer_id = await context.broker.producer_ids.next_producer_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    try:
        producer = await _initialize(context.broker, request, request.transactional_id)
    except ApiError as why:
        fenced = why.code == ErrorCode.PRODUCER_FENCED and context.version < _FIRST_WITH_FENCED
        return _refused(ErrorCode.INVALID_PRODUCER_EPOCH if fenced else why.code)
    return InitProducerIdResponse(producer_id=producer.producer_id, producer_epoch=producer.epoch)


async def _initialize(
    broker: Broker, request: InitProducerIdRequest, transactional_id: str
) -> Producer:
    check_room(broker, transactional_id)
    try:
        return await _ask(broker, request, transactional_id)
    except ApiError as why:
        if why.code != ErrorCode.CONCURRENT_TRANSACTIONS:
            raise
    # The abort that the first attempt set off is over, unless a partition of the transaction is out of reach.
    return await _ask(broker, request, transactional_id)


async def _ask(broker: Broker, request: InitProducerIdRequest, transactional_id: str) -> Producer:
    claimed = None
    if request.producer_id != _NONE:
        claimed = Producer(request.producer_id, request.producer_epoch)

    def submit(token: Token) -> None:
        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            timeout_ms = request.transaction_timeout_ms
            return shard.initialize(transactional_id, timeout_ms, claimed, token, now_ms)

        broker.transactions.write(transactional_id, decide)

    producer: Producer = await answer_of(broker, submit)
    return producer


def _refused(error: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NONE, producer_epoch=_NONE)
