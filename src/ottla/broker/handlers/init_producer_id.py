"""InitProducerId (api 22, v0-v5).

Versions: v2 flexible · v3 the producer id and epoch to go on with (KIP-360) · v5 TRANSACTION_ABORTABLE.
Differs from Apache Kafka: a transactional id is answered with UNSUPPORTED_VERSION, which clients report as fatal,
until there are transactions.
"""

from __future__ import annotations

from ottla.base.errors import ClusterError
from ottla.broker.context import RequestContext
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.errors import ErrorCode

_NONE = -1


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Give an idempotent producer an id of its own, at epoch 0.

    A producer that names the id it had gets a fresh one all the same, as in Kafka: only a transactional id would tell
    who may go on with which.
    """
    error = _error_of(request)
    if error:
        return _refused(error)
    try:
        producer_id = await context.broker.producer_ids.next_producer_id()
    except ClusterError:
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _error_of(request: InitProducerIdRequest) -> int:
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is None:
        return ErrorCode.NONE
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.UNSUPPORTED_VERSION


def _refused(error: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NONE, producer_epoch=_NONE)
