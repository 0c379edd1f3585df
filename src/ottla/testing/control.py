"""The broker's end of the socket by which a test rules it: a line of JSON each way.

The socket is one of a pair that the test's process made and handed down: nobody else can reach it, and when that
process ends, however it ends, so does the broker.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable
from typing import Any

from ottla.base.errors import OttlaError
from ottla.broker.context import Broker
from ottla.broker.server import Server
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.testing.clock import MovableClock
from ottla.testing.rules import FaultRule, FaultRules
from ottla.testing.sightings import Sightings


class Control:
    """Does what the test asks for, one thing after the other."""

    def __init__(self, clock: MovableClock, rules: FaultRules, sightings: Sightings) -> None:
        self._clock = clock
        self._rules = rules
        self._sightings = sightings
        self.is_orphaned = False
        """Whether the test's process has ended."""
        self._broker: Broker | None = None
        self._server: Server | None = None
        self._commands: dict[str, Callable[..., Any]] = {
            "add_rule": self._add_rule,
            "applied": rules.applied,
            "drop_connections": self._drop_connections,
            "end_rule": rules.end,
            "end_rules": rules.end_all,
            "set_clock": self._set_clock,
            "sightings": sightings.since,
        }

    def serve(self, broker: Broker, server: Server) -> None:
        """The broker and the server to rule."""
        self._broker, self._server = broker, server

    async def run(self, control_fd: int, hello: dict[str, Any]) -> None:
        """Say that the broker is ready, then do as told until the other end is closed."""
        reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=control_fd))
        _send(writer, hello)
        while line := await reader.readline():
            _send(writer, await self._do(**json.loads(line)))
        self.is_orphaned = True
        signal.raise_signal(signal.SIGTERM)

    async def _do(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            result = self._commands[command](**arguments)
            return {"result": await result if asyncio.iscoroutine(result) else result}
        except OttlaError as failure:
            return {"failure": str(failure)}

    def _add_rule(self, api: str, error: str = "NONE", **rest: Any) -> int:
        number = self._rules.next_number()
        self._rules.add(
            FaultRule(number=number, api_key=ApiKey[api], error=ErrorCode[error], **rest)
        )
        return number

    def _drop_connections(self) -> int:
        assert self._server is not None
        clients = [each for each in self._server.connections if each.peer < 0]
        for connection in clients:
            connection.abort()
        return len(clients)

    async def _set_clock(self, ahead_ms: int) -> None:
        """Set the clock, and do at once what is due by it: no timer knows of the leap."""
        assert self._broker is not None
        self._clock.set_ahead(ahead_ms)
        await self._broker.logs.apply_retention()
        self._broker.groups.write_everywhere(lambda shard, now_ms: shard.tick(now_ms))
        self._broker.transactions.write_everywhere(lambda shard, now_ms: shard.tick(now_ms))


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
