"""ResetSink (api 10115, v0; ottla's own): forget what a sink has committed, and abort what it has open.

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
from ottla.protocol.apis.reset_sink import ResetSinkRequest, ResetSinkResponse


def handle(context: RequestContext, request: ResetSinkRequest) -> Pending:
    """Make the sink forget; the run that has it open may write no more."""

    def submit(token: Token) -> None:
        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            return shard.sinks.reset(request.sink_id, token, now_ms)

        context.broker.transactions.write(request.sink_id, decide)

    return ask(context, submit, _response)


def _response(answer: Any) -> ResetSinkResponse:
    if isinstance(answer, ApiError):
        return ResetSinkResponse(error_code=answer.code, error_message=answer.message or None)
    return ResetSinkResponse()
