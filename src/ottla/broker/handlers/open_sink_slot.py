"""OpenSinkSlot (api 10111, v0; ottla's own): a task attempt is about to write its part of a batch.

Clients other than ottla's are not told of it (docs/adr/0006); what a slot is: docs/adr/0008.
"""

from __future__ import annotations

from ottla.base.errors import ApiError, ClusterError
from ottla.broker.context import RequestContext
from ottla.broker.later import answer_of
from ottla.broker.transaction_entry import check_room
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.sinks import Slot
from ottla.protocol.apis.open_sink_slot import OpenSinkSlotRequest, OpenSinkSlotResponse
from ottla.protocol.errors import ErrorCode


async def handle(context: RequestContext, request: OpenSinkSlotRequest) -> OpenSinkSlotResponse:
    """Give the slot a producer, or the one that it has."""
    try:
        await context.broker.producer_ids.ensure()
    except ClusterError as failure:
        return _refused(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(failure)))
    try:
        name, (producer_id, epoch) = await answer_of(
            context.broker, lambda token: _submit(context, request, token)
        )
    except ApiError as refused:
        return _refused(refused)
    return OpenSinkSlotResponse(
        transactional_id=name, producer_id=producer_id, producer_epoch=epoch
    )


def _submit(context: RequestContext, request: OpenSinkSlotRequest, token: Token) -> None:
    slot = Slot(
        request.sink_id, request.generation, request.batch, request.partition, request.attempt
    )

    def decide(shard: TransactionShard, now_ms: int) -> Decision:
        if shard.sinks.name_of(slot) is None:
            check_room(context.broker, None)
        return shard.sinks.open_slot(slot, token, now_ms)

    context.broker.transactions.write(request.sink_id, decide)


def _refused(why: ApiError) -> OpenSinkSlotResponse:
    return OpenSinkSlotResponse(error_code=why.code, error_message=why.message or None)
