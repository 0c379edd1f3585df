"""An answer from a coordinator: usually there before the handler returns, else when the machine lets go of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ottla.base.errors import ApiError
from ottla.broker.context import Broker, RequestContext
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.protocol.codec import encode_response
from ottla.protocol.schema import Response


class _Asked:
    """Who waits for a coordinator: the handler that asked, and once that has returned the connection."""

    __slots__ = ("_context", "_frame", "_pending", "_render")

    def __init__(
        self, context: RequestContext, render: Callable[[Any], Response | bytearray]
    ) -> None:
        self._context = context
        self._render = render
        self._frame: bytearray | None = None
        self._pending: Pending | None = None

    def answer(self, value: Any) -> None:
        """Take the answer, of which there is one."""
        frame = self._render(value)
        if not isinstance(frame, bytearray):
            frame = encode_response(frame, self._context.version, self._context.correlation_id)
        if self._pending is None:
            self._frame = frame
        else:
            self._pending.resolve(frame)

    def reply(self) -> bytearray | Pending:
        """The frame if the answer is there already."""
        if self._frame is not None:
            return self._frame
        self._pending = Pending(blocking=False)
        return self._pending


def ask(
    context: RequestContext,
    submit: Callable[[Token], None],
    render: Callable[[Any], Response | bytearray],
) -> Pending:
    """Give a coordinator a token to answer; `render` turns its value, or an ApiError, into the response or its frame.

    The reply does not block: what the request changes is in place, or waits for others, when `submit` returns.
    """
    reply = ask_raw(context, submit, render)
    if isinstance(reply, Pending):
        return reply
    pending = Pending(blocking=False)
    pending.resolve(reply)
    return pending


def ask_raw(
    context: RequestContext,
    submit: Callable[[Token], None],
    render: Callable[[Any], Response | bytearray],
) -> bytearray | Pending:
    """The same for a raw handler: the frame itself, where there is nothing to wait for."""
    asked = _Asked(context, render)
    try:
        submit(asked.answer)
    except ApiError as refused:
        asked.answer(refused)
    return asked.reply()


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
