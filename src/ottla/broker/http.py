"""/metrics and /health over plain HTTP: one GET per connection, nothing to configure but the address.

Kept this small on purpose: the REST API and the console are an ASGI application of their own; what a monitoring system
asks every few seconds must answer even when they are not installed.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import cast

from ottla.base.metrics import CONTENT_TYPE, render

_MAX_REQUEST_BYTES = 8 * 1024
_TIMEOUT_SECONDS = 10
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}

Health = Callable[[], dict[str, object]]


class _Request(asyncio.Protocol):
    """One connection, one answer."""

    def __init__(self, health: Health) -> None:
        self._health = health
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._deadline = asyncio.get_running_loop().call_later(
            _TIMEOUT_SECONDS, self._transport.abort
        )

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._deadline is not None:
            self._deadline.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if b"\r\n\r\n" in self._received:
            self._answer(bytes(self._received.split(b"\r\n", 1)[0]))
        elif len(self._received) > _MAX_REQUEST_BYTES:
            self._send(400, "text/plain", "the request is too long\n", head=False)

    def _answer(self, request_line: bytes) -> None:
        method, _, rest = request_line.decode("latin-1").partition(" ")
        path = rest.split(" ")[0].split("?")[0]
        if method not in ("GET", "HEAD"):
            self._send(405, "text/plain", "only GET is served here\n", head=False)
        else:
            self._send(*self._page(path), head=method == "HEAD")

    def _page(self, path: str) -> tuple[int, str, str]:
        if path == "/metrics":
            return 200, CONTENT_TYPE, render()
        if path in ("/health", "/health/live", "/health/ready"):
            health = self._health()
            # A live broker that is still loading, or has lost a disk, must not be restarted, only spared.
            well = path == "/health/live" or health["ready"]
            return 200 if well else 503, "application/json", json.dumps(health) + "\n"
        return 404, "text/plain", "try /metrics, /health, /health/live or /health/ready\n"

    def _send(self, status: int, content_type: str, body: str, *, head: bool) -> None:
        if self._transport is None:
            return
        raw = body.encode()
        lines = (
            f"HTTP/1.1 {status} {_REASONS[status]}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(raw)}",
            "Connection: close",
        )
        self._transport.write("\r\n".join((*lines, "", "")).encode() + (b"" if head else raw))
        self._transport.close()


async def serve(bound: list[socket.socket], health: Health) -> list[asyncio.Server]:
    """Answer at sockets that are bound."""
    loop = asyncio.get_running_loop()
    return [await loop.create_server(lambda: _Request(health), sock=each) for each in bound]
