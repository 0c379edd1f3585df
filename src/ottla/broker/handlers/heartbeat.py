"""Heartbeat (api 12, v0-v4).

Versions: v3 static members (KIP-345) · v4 flexible.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.protocol.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: HeartbeatRequest) -> Pending:
    """Hear that a member of a classic group lives, and tell it if it must join again."""
    return ask(
        context,
        lambda token: context.broker.groups.write(
            request.group_id, lambda shard, now_ms: shard.heartbeat(request, token, now_ms)
        ),
        _render,
    )


def _render(answer: int | ApiError) -> HeartbeatResponse:
    error = answer.code if isinstance(answer, ApiError) else answer
    if error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        # Sessions begin anew when the load is done: there is nothing that the member would have to do.
        error = ErrorCode.NONE
    return HeartbeatResponse(error_code=error)
