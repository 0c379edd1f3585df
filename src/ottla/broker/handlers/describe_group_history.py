"""DescribeGroupHistory (api 10100, v0; ottla's own): what became of groups and their offsets lately.

Clients other than ottla's are not told of it (docs/adr/0006).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.coordination.groups.past import tell
from ottla.protocol.apis.describe_group_history import (
    DescribeGroupHistoryRequest,
    DescribeGroupHistoryResponse,
    GroupHistory,
)


def handle(context: RequestContext, request: DescribeGroupHistoryRequest) -> Pending:
    """Tell what became of groups and their offsets lately."""

    def submit(group_id: str, token: Token) -> None:
        context.broker.groups.read(group_id, lambda shard, now_ms: tell(shard, group_id), token)

    def render(answers: list[Any]) -> DescribeGroupHistoryResponse:
        named = zip(request.group_ids, answers, strict=True)
        return DescribeGroupHistoryResponse(groups=[_history(*each) for each in named])

    return ask_each(context, [partial(submit, group_id) for group_id in request.group_ids], render)


def _history(group_id: str, answer: GroupHistory | ApiError) -> GroupHistory:
    if isinstance(answer, GroupHistory):
        return answer
    return GroupHistory(
        group_id=group_id, error_code=answer.code, error_message=answer.message or None
    )
