"""Where a broker serves /metrics and /health: beside its own port, unless a setting says where."""

from __future__ import annotations

import asyncio

from ottla.base.errors import OttlaError
from ottla.base.log import logger
from ottla.broker import http
from ottla.config.listeners import BESIDE_THE_BROKER, Address
from ottla.node.sockets import bind

log = logger(__name__)

OFFSET_FROM_BROKER_PORT = 100
_LAST_PORT = 65535


async def serve_metrics(
    listener: Address | None, broker_port: int, health: http.Health
) -> list[asyncio.Server]:
    """Open the page; nothing where nobody wants it, or where the port that was asked for is taken.

    `broker_port` is what the broker was told to listen on, with 0 for any free port.
    """
    if listener is None:
        return []
    places = [listener] if listener != BESIDE_THE_BROKER else _beside(broker_port)
    for host, port in places:
        try:
            sockets = bind(host, port)
        except OttlaError as failure:
            refusal = failure
            continue
        return await http.serve(sockets, health)
    # Clients matter more than those who watch them.
    log.warning("no metrics", address=listener, reason=refusal)
    return []


def _beside(broker_port: int) -> list[Address]:
    """The port that goes with the broker's, then any free one."""
    host, port = BESIDE_THE_BROKER.host, broker_port + OFFSET_FROM_BROKER_PORT
    usual = [Address(host, port)] if broker_port > 0 and port <= _LAST_PORT else []
    return [*usual, Address(host, 0)]
