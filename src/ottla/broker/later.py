"""An answer from a coordinator: usually there before the handler returns, else when the machine lets go of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import RequestContext
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.protocol.codec import encode_response
from ottla.protocol.schema import Response


def ask(
    context: RequestContext,
    submit: Callable[[Token], None],
    render: Callable[[Any], Response | bytearray],
) -> Pending:
    """Give a coordinator a token to answer; `render` turns its value, or an ApiError, into the response or its frame.

    The reply does not block: what the request changes is in place, or waits for others, when `submit` returns.
    """
    pending = Pending(blocking=False)

    def answer(value: Any) -> None:
        rendered = render(value)
        if not isinstance(rendered, bytearray):
            rendered = encode_response(rendered, context.version, context.correlation_id)
        pending.resolve(rendered)

    try:
        submit(answer)
    except ApiError as refused:
        answer(refused)
    return pending


def ask_each(
    context: RequestContext,
    submits: Sequence[Callable[[Token], None]],
    render: Callable[[list[Any]], Response | bytearray],
) -> Pending:
    """Ask several machines; `render` gets their values, or ApiErrors, in the order they were asked."""
    answers: list[Any] = [None] * len(submits)
    missing = len(submits)

    def answer(number: int, token: Token, value: Any) -> None:
        nonlocal missing
        answers[number] = value
        missing -= 1
        if not missing:
            token(answers)

    def submit(token: Token) -> None:
        if not submits:
            token(answers)
        for number, each in enumerate(submits):
            answered = partial(answer, number, token)
            try:
                each(answered)
            except ApiError as refused:
                answered(refused)

    return ask(context, submit, render)
