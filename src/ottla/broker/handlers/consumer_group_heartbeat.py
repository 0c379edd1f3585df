"""ConsumerGroupHeartbeat (api 68, v0-v1).

Versions: v1 subscription by pattern, ids that members make up themselves (KIP-1082).
Differs from Apache Kafka: unless a setting asks for an interval, a target assignment is worked out at once and not once
a second, and a pattern is matched at once and not in the background, so that what a heartbeat changes is in its answer
(that of a newcomer waits some milliseconds for others); a static member that has lost its epoch may join again under
its own id, and is not told UNRELEASED_INSTANCE_ID until its session ends.
"""

from __future__ import annotations

import uuid

from ottla.base.errors import ApiError
from ottla.base.ids import id_text
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.coordination.groups.group import Caller
from ottla.protocol.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle(context: RequestContext, request: ConsumerGroupHeartbeatRequest) -> Pending:
    """Let a member join, stay in or leave a group, and tell it what it owns."""
    caller = Caller(
        context.client_id or "",
        f"/{context.connection.host}",
        context.version,
        "" if request.member_id else id_text(uuid.uuid4()),
    )
    return ask(
        context,
        lambda token: context.broker.groups.write(
            request.group_id,
            lambda shard, now_ms: shard.consumer_heartbeat(request, caller, token, now_ms),
        ),
        _render,
    )


def _render(
    answer: ConsumerGroupHeartbeatResponse | ApiError,
) -> ConsumerGroupHeartbeatResponse:
    if isinstance(answer, ApiError):
        return ConsumerGroupHeartbeatResponse(
            error_code=answer.code, error_message=answer.message or None
        )
    return answer
