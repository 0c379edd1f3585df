"""SyncGroup (api 14, v0-v5).

Versions: v3 static members (KIP-345) · v4 flexible · v5 protocol type and name.
Differs from Apache Kafka: a sync that a later one of the same member overtakes is answered REBALANCE_IN_PROGRESS, and
not never.
"""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.protocol.errors import ErrorCode

_FIRST_WITH_PROTOCOL: Final = 5


def handle(context: RequestContext, request: SyncGroupRequest) -> Pending:
    """Take the leader's assignment, and give every member its part of it."""
    caller = Caller(context.client_id or "", f"/{context.connection.host}", context.version)

    def render(answer: SyncGroupResponse | ApiError) -> SyncGroupResponse:
        if isinstance(answer, ApiError):
            return SyncGroupResponse(error_code=answer.code)
        return answer

    if context.version >= _FIRST_WITH_PROTOCOL and not _names_its_protocol(request):
        refused = ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        return ask(context, lambda token: token(refused), render)
    return ask(
        context,
        lambda token: context.broker.groups.write(
            request.group_id, lambda shard, now_ms: shard.sync(request, caller, token, now_ms)
        ),
        render,
    )


def _names_its_protocol(request: SyncGroupRequest) -> bool:
    return request.protocol_type is not None and request.protocol_name is not None
