"""An answer from a coordinator: usually there before the handler returns, else when the machine lets go of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from ottla.base.errors import ApiError
from ottla.broker.context import Broker, RequestContext
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.protocol.codec import encode_response
from ottla.protocol.schema import Response


class _Asked(Pending):
    """The reply of who has asked a coordinator."""

    __slots__ = ("_context", "_render")

    def __init__(
        self, context: RequestContext, render: Callable[[Any], Response | bytearray]
    ) -> None:
        super().__init__(blocking=False)
        self._context = context
        self._render = render

    def answer(self, value: Any) -> None:
        """Take the answer, of which there is one."""
        frame = self._render(value)
        if not isinstance(frame, bytearray):
            frame = encode_response(frame, self._context.version, self._context.correlation_id)
        self.resolve(frame)


def ask(
    context: RequestContext,
    submit: Callable[[Token], None],
    render: Callable[[Any], Response | bytearray],
) -> Pending:
    """Give a coordinator a token to answer; `render` turns its value, or an ApiError, into the response or its frame.

    The reply does not block: what the request changes is in place, or waits for others, when `submit` returns.
    """
    asked = _Asked(context, render)
    try:
        submit(asked.answer)
    except ApiError as refused:
        asked.answer(refused)
    return asked


def ask_raw(
    context: RequestContext,
    submit: Callable[[Token], None],
    render: Callable[[Any], Response | bytearray],
) -> bytearray | Pending:
    """The same for a raw handler: the frame itself, where there is nothing to wait for."""
    asked = ask(context, submit, render)
    return cast(bytearray, asked.buffers) if asked.done else asked


async def answer_of(broker: Broker, submit: Callable[[Token], None]) -> Any:
    """The same for a handler that has had to wait already: the coordinator's value; ApiError if it refuses."""
    answered = broker.loop.create_future()

    def answer(value: Any) -> None:
        if not answered.done():
            answered.set_result(value)

    submit(answer)
    value = await answered
    if isinstance(value, ApiError):
        raise value
    return value


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
