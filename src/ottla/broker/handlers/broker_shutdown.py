"""BrokerShutdown (api 10001, v0; ottla's own): the controller moves away what a broker leads before it stops."""

from __future__ import annotations

from ottla.broker.context import RequestContext
from ottla.protocol.apis.broker_shutdown import BrokerShutdownRequest, BrokerShutdownResponse


async def handle(context: RequestContext, request: BrokerShutdownRequest) -> BrokerShutdownResponse:
    """Answered once others lead; what has no other replica in sync stays."""
    remaining = await context.broker.elections.shut_down(request.broker_id, request.broker_epoch)
    return BrokerShutdownResponse(remaining=remaining)
