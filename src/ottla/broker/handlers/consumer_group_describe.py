"""ConsumerGroupDescribe (api 69, v0-v1).

Versions: v1 whether a member speaks the consumer or the classic protocol.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker import authorized_operations
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.coordination.groups.consumer_describe import describe
from ottla.protocol.apis.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(context: RequestContext, request: ConsumerGroupDescribeRequest) -> Pending:
    """Show the state and the members of consumer groups."""

    def submit(group_id: str, token: Token) -> None:
        context.broker.groups.read(group_id, lambda shard, now_ms: describe(shard, group_id), token)

    def render(answers: list[Any]) -> ConsumerGroupDescribeResponse:
        named = zip(request.group_ids, answers, strict=True)
        described = [_described(group_id, answer) for group_id, answer in named]
        if request.include_authorized_operations:
            for group in described:
                if not group.error_code:
                    group.authorized_operations = authorized_operations.GROUP
        return ConsumerGroupDescribeResponse(groups=described)

    return ask_each(context, [partial(submit, group_id) for group_id in request.group_ids], render)


def _described(group_id: str, answer: DescribedGroup | ApiError) -> DescribedGroup:
    if isinstance(answer, DescribedGroup):
        return answer
    return DescribedGroup(
        group_id=group_id, error_code=answer.code, error_message=answer.message or None
    )
