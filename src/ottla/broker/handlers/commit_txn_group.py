"""CommitTxnGroup (api 10112, v0; ottla's own): what the named slots have written counts, and nothing else.

Clients other than ottla's are not told of it (docs/adr/0006); how it is decided: docs/adr/0008.
"""

from __future__ import annotations

from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.coordination.decision import Decision, Token
from ottla.coordination.transactions.shard import TransactionShard
from ottla.coordination.transactions.sinks import Group, Member
from ottla.coordination.transactions.state import Producer
from ottla.protocol.apis.commit_txn_group import CommitTxnGroupRequest, CommitTxnGroupResponse


def handle(context: RequestContext, request: CommitTxnGroupRequest) -> Pending:
    """Commit a batch; the answer comes when it is certain, with the markers still under way where leaders are away."""
    members = {
        Member(slot.transactional_id, Producer(slot.producer_id, slot.producer_epoch))
        for slot in request.slots
    }
    group = Group(request.sink_id, request.generation, request.batch, request.digest, members)

    def submit(token: Token) -> None:
        def decide(shard: TransactionShard, now_ms: int) -> Decision:
            return shard.sinks.commit(group, token, now_ms)

        context.broker.transactions.write(request.sink_id, decide)

    return ask(context, submit, _response)


def _response(answer: Any) -> CommitTxnGroupResponse:
    if isinstance(answer, ApiError):
        return CommitTxnGroupResponse(error_code=answer.code, error_message=answer.message or None)
    return CommitTxnGroupResponse()
