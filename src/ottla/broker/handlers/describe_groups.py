"""DescribeGroups (api 15, v0-v6).

Versions: v3 authorized operations · v4 static members · v5 flexible · v6 GROUP_ID_NOT_FOUND with a message (KIP-1043).
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.broker import authorized_operations
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.coordination.groups.describe import describe
from ottla.protocol.apis.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from ottla.protocol.errors import ErrorCode

_FIRST_WITH_NOT_FOUND: Final = 6
_DEAD: Final = "Dead"


def handle(context: RequestContext, request: DescribeGroupsRequest) -> Pending:
    """Show the state and the members of classic groups."""

    def submit(group_id: str, token: Token) -> None:
        context.broker.groups.read(group_id, lambda shard, now_ms: describe(shard, group_id), token)

    def render(answers: list[Any]) -> DescribeGroupsResponse:
        named = zip(request.groups, answers, strict=True)
        described = [_described(context, group_id, answer) for group_id, answer in named]
        if request.include_authorized_operations:
            for group in described:
                if not group.error_code:
                    group.authorized_operations = authorized_operations.GROUP
        return DescribeGroupsResponse(groups=described)

    return ask_each(context, [partial(submit, group_id) for group_id in request.groups], render)


def _described(
    context: RequestContext, group_id: str, answer: DescribedGroup | ApiError
) -> DescribedGroup:
    if isinstance(answer, DescribedGroup):
        return answer
    if answer.code == ErrorCode.GROUP_ID_NOT_FOUND:
        if context.version < _FIRST_WITH_NOT_FOUND:
            # Before there was an error for it, a group that is not there was said to be dead.
            return DescribedGroup(group_id=group_id, group_state=_DEAD)
        return DescribedGroup(
            group_id=group_id,
            group_state=_DEAD,
            error_code=answer.code,
            error_message=answer.message,
        )
    return DescribedGroup(group_id=group_id, error_code=answer.code)
