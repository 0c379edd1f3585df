"""JoinGroup (api 11, v0-v9).

Versions: v1 rebalance time-out · v4 MEMBER_ID_REQUIRED (KIP-394) · v5 static members (KIP-345) · v6 flexible ·
v7 protocol type · v8 reason (KIP-800) · v9 skip assignment (KIP-814).
Differs from Apache Kafka: a static member that comes back with other topics starts a rebalance, even where the protocol
stays the same; a join that a later one of the same member overtakes is answered REBALANCE_IN_PROGRESS, and not never.
"""

from __future__ import annotations

import uuid
from typing import Final

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupResponse

_FIRST_WITH_NULL_PROTOCOL: Final = 7


def handle(context: RequestContext, request: JoinGroupRequest) -> Pending:
    """Let a client into a group; the answer waits until the group is complete."""
    caller = Caller(
        context.client_id or "",
        f"/{context.connection.host}",
        context.version,
        "" if request.member_id else str(uuid.uuid4()),
    )
    return ask(
        context,
        lambda token: context.broker.groups.write(
            request.group_id, lambda shard, now_ms: shard.join(request, caller, token, now_ms)
        ),
        lambda answer: _render(context, request, answer),
    )


def _render(
    context: RequestContext, request: JoinGroupRequest, answer: JoinGroupResponse | ApiError
) -> JoinGroupResponse:
    if isinstance(answer, ApiError):
        answer = JoinGroupResponse(error_code=answer.code, member_id=request.member_id)
    if not answer.protocol_name:
        answer.protocol_name = None if context.version >= _FIRST_WITH_NULL_PROTOCOL else ""
    return answer
