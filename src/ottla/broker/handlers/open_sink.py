"""OpenSink (api 10110, v0; ottla's own): a run of a job is about to write to a sink.

Clients other than ottla's are not told of it (docs/adr/0006); what a sink is: docs/adr/0008.
"""

from __future__ import annotations

from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import Broker, RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.protocol.apis.open_sink import OpenSinkRequest, OpenSinkResponse
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: OpenSinkRequest) -> Pending:
    """Let a run take the sink over, unless another has taken it over from that run."""

    def submit(token: Token) -> None:
        _check_limit(context.broker, request.sink_id)

        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            return shard.sinks.open(
                request.sink_id,
                request.run_id,
                request.timeout_ms,
                request.ephemeral,
                token,
                now_ms,
            )

        context.broker.transactions.write(request.sink_id, decide)

    return ask(context, submit, _response)


def _response(answer: Any) -> OpenSinkResponse:
    if isinstance(answer, ApiError):
        return OpenSinkResponse(error_code=answer.code, error_message=answer.message or None)
    generation, batch, digest = answer
    return OpenSinkResponse(generation=generation, committed_batch=batch, committed_digest=digest)


def _check_limit(broker: Broker, sink_id: str) -> None:
    """The ledger of a stream is kept for ever: a job that invents a sink per run must not fill the memory."""
    limit = broker.settings.now.transactions.max_sinks
    shards = broker.transactions.loaded_shards()
    if sum(len(shard.sinks.sinks) for shard in shards) < limit:
        return
    if not any(sink_id in shard.sinks.sinks for shard in shards):
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"ottla.max.sinks={limit} are known already; 'ottla sinks reset' makes the broker forget one",
        )
