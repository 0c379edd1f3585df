"""DescribeSinks (api 10114, v0; ottla's own): the sinks that a coordinator knows, or those that are named.

Clients other than ottla's are not told of it (docs/adr/0006).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.sink_shard import DescribedSlot
from ottla.protocol.apis.describe_sinks import (
    DescribedSink,
    DescribeSinksRequest,
    DescribeSinksResponse,
    OpenSlot,
)


def handle(
    context: RequestContext, request: DescribeSinksRequest
) -> Pending | DescribeSinksResponse:
    """Show sinks and their open slots, once what is shown is certain."""
    ids = request.sink_ids
    if ids is None:
        try:
            shards = context.broker.transactions.shards()
        except ApiError as why:
            return DescribeSinksResponse(error_code=why.code)
        ids = [sink_id for shard in shards for sink_id in shard.sinks.known()]

    def submit(sink_id: str, token: Token) -> None:
        context.broker.transactions.read(sink_id, partial(_look, sink_id), token)

    def render(answers: list[Any]) -> DescribeSinksResponse:
        named = zip(ids, answers, strict=True)
        return DescribeSinksResponse(sinks=[_described(*each) for each in named])

    return ask_each(context, [partial(submit, sink_id) for sink_id in ids], render)


def _look(sink_id: str, shard: TransactionShard, now_ms: int) -> Any:
    try:
        return shard.sinks.describe(sink_id)
    except ApiError as why:
        return why


def _described(sink_id: str, answer: Any) -> DescribedSink:
    if isinstance(answer, ApiError):
        return DescribedSink(
            sink_id=sink_id, error_code=answer.code, error_message=answer.message or None
        )
    sink, slots = answer
    return DescribedSink(
        sink_id=sink_id,
        run_id=sink.run_id,
        generation=sink.generation,
        committed_batch=sink.committed_batch,
        committed_digest=sink.committed_digest,
        ephemeral=sink.ephemeral,
        timeout_ms=sink.timeout_ms,
        updated_ms=sink.updated_ms,
        slots=[_slot(each) for each in slots],
    )


def _slot(described: DescribedSlot) -> OpenSlot:
    name, slot, transaction = described
    return OpenSlot(
        transactional_id=name,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        batch=slot.batch,
        partition=slot.partition,
        attempt=slot.attempt,
        state=transaction.state.label,
    )
