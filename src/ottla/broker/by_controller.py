"""Requests that the controller answers, whichever broker they come to; while there is none they wait for the next.

Clients take NOT_CONTROLLER for an answer, and some of them, librdkafka among them, do not ask again.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.broker.apis import Api
from ottla.broker.context import RequestContext
from ottla.client.errors import BrokerUnreachable
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request, error_codes

_PATIENCE_S: Final = 10.0
"""Far longer than a controller that died is without a successor, and less than clients wait."""
_AGAIN_S: Final = 0.05


async def answer(api: Api, context: RequestContext, request: Request) -> Any:
    """What the controller says, be it this broker or another."""
    loop = context.broker.loop
    until = loop.time() + _PATIENCE_S
    while True:
        is_last = loop.time() >= until
        try:
            response = await _ask(api, context, request)
            if is_last or ErrorCode.NOT_CONTROLLER not in error_codes(response):
                return response
        except BrokerUnreachable:
            if is_last:
                raise
        except ApiError as refused:
            if is_last or refused.code != ErrorCode.NOT_CONTROLLER:
                raise
        await asyncio.sleep(_AGAIN_S)


async def _ask(api: Api, context: RequestContext, request: Request) -> Any:
    if context.broker.controller.is_active:
        return await api.handle(context, request)
    return await context.broker.peers.ask_controller(request, version=context.version)
