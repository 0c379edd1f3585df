"""AbortTxnGroup (api 10113, v0; ottla's own): nothing that the open slots of a sink have written counts.

Clients other than ottla's are not told of it (docs/adr/0006).
"""

from __future__ import annotations

from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.protocol.apis.abort_txn_group import AbortTxnGroupRequest, AbortTxnGroupResponse


def handle(context: RequestContext, request: AbortTxnGroupRequest) -> Pending:
    """Abort every open slot of the sink."""

    def submit(token: Token) -> None:
        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            return shard.sinks.abort(request.sink_id, request.generation, token, now_ms)

        context.broker.transactions.write(request.sink_id, decide)

    return ask(context, submit, _response)


def _response(answer: Any) -> AbortTxnGroupResponse:
    if isinstance(answer, ApiError):
        return AbortTxnGroupResponse(error_code=answer.code, error_message=answer.message or None)
    return AbortTxnGroupResponse()
