"""LeaveGroup (api 13, v0-v5).

Versions: v3 several members, static ones by their instance id (KIP-345) · v4 flexible · v5 reason (KIP-800).
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.reply import Pending
from ottla.protocol.apis.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

_FIRST_WITH_SEVERAL: Final = 3


def handle(context: RequestContext, request: LeaveGroupRequest) -> Pending:
    """Let members go, so that the others need not wait for their sessions to end."""
    members = request.members
    if context.version < _FIRST_WITH_SEVERAL:
        members = [MemberIdentity(member_id=request.member_id)]

    def render(answer: list[int] | ApiError) -> LeaveGroupResponse:
        if isinstance(answer, ApiError):
            return LeaveGroupResponse(error_code=answer.code)
        if context.version < _FIRST_WITH_SEVERAL:
            return LeaveGroupResponse(error_code=answer[0])
        return LeaveGroupResponse(
            members=[
                MemberResponse(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=error,
                )
                for member, error in zip(members, answer, strict=True)
            ]
        )

    return ask(
        context,
        lambda token: context.broker.groups.write(
            request.group_id,
            lambda shard, now_ms: shard.leave(request.group_id, members, token, now_ms),
        ),
        render,
    )
