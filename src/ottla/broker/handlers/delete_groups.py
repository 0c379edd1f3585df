"""DeleteGroups (api 42, v0-v2).

Versions: v2 flexible.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.protocol.apis.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def handle(context: RequestContext, request: DeleteGroupsRequest) -> Pending:
    """Erase groups without members, and their offsets with them."""
    names = list(dict.fromkeys(request.groups_names))

    def submit(group_id: str, token: Token) -> None:
        context.broker.groups.write(
            group_id, lambda shard, now_ms: shard.delete(group_id, token, now_ms)
        )

    def render(answers: list[Any]) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=group_id, error_code=_code(answer))
                for group_id, answer in zip(names, answers, strict=True)
            ]
        )

    return ask_each(context, [partial(submit, group_id) for group_id in names], render)


def _code(answer: int | ApiError) -> int:
    return answer.code if isinstance(answer, ApiError) else answer
