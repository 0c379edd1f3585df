"""The other brokers of the cluster: connections on which this one has introduced itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ottla.base.errors import ApiError
from ottla.client.connection import Connection
from ottla.client.errors import BrokerUnreachable
from ottla.cluster.image import Image
from ottla.cluster.membership import Membership
from ottla.cluster.znodes import Endpoint
from ottla.protocol.apis.broker_hello import BrokerHelloRequest
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request


class Peers:
    """Opens connections to other brokers, and keeps one to each for requests that are few."""

    def __init__(
        self, membership: Membership, image: Callable[[], Image], listener: str, timeout_ms: int
    ) -> None:
        self.membership = membership
        self._image = image
        self._listener = listener
        self._timeout_ms = timeout_ms
        self._shared: dict[int, Connection] = {}
        self._opening: dict[int, asyncio.Lock] = {}

    async def open(self, broker_id: int) -> Connection:
        """A connection of one's own to another broker, which takes us for one of its kind."""
        endpoint = self._endpoint(broker_id)
        connection = await Connection.open(
            endpoint.host,
            endpoint.port,
            client_id=f"broker-{self.membership.broker_id}",
            timeout_ms=self._timeout_ms,
        )
        try:
            found = await self.say_hello(connection)
            if found != broker_id:
                raise BrokerUnreachable(
                    f"{connection.address} is broker {found}, not broker {broker_id}"
                )
        except BaseException:
            await connection.close()
            raise
        return connection

    async def say_hello(self, connection: Connection) -> int:
        """Introduce this broker on a connection; return the id of the broker at the other end."""
        member = self.membership
        hello = BrokerHelloRequest(
            cluster_id=member.cluster_id,
            broker_id=member.broker_id,
            broker_epoch=member.broker_epoch,
            secret=member.secret,
        )
        answer = await connection.ask(hello, version=0, timeout_ms=self._timeout_ms)
        if answer.error_code:
            raise ApiError(answer.error_code, answer.error_message or "")
        return int(answer.broker_id)

    async def ask(self, broker_id: int, request: Request, *, version: int | None = None) -> Any:
        """Ask another broker, over the connection that all such requests share."""
        connection = await self._connection(broker_id)
        if version is None:
            version = request.api_key.last_version
        return await connection.ask(request, version=version, timeout_ms=self._timeout_ms)

    async def ask_controller(self, request: Request, *, version: int | None = None) -> Any:
        """Ask the controller, whoever that is now."""
        controller = self._image().controller_id
        if controller < 0:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "the cluster has no controller now")
        return await self.ask(controller, request, version=version)

    async def close(self) -> None:
        """Hang up on everybody."""
        shared, self._shared = self._shared, {}
        for connection in shared.values():
            await connection.close()

    async def _connection(self, broker_id: int) -> Connection:
        async with self._opening.setdefault(broker_id, asyncio.Lock()):
            connection = self._shared.get(broker_id)
            if connection is None or connection.closed:
                connection = self._shared[broker_id] = await self.open(broker_id)
            return connection

    def _endpoint(self, broker_id: int) -> Endpoint:
        broker = self._image().brokers.get(broker_id)
        if broker is None:
            raise BrokerUnreachable(f"broker {broker_id} is not registered")
        return broker.endpoint(self._listener) or broker.endpoints[0]
