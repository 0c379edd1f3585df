"""One cluster, and clients of it that act as whoever calls."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Final

from ottla.base.tasks import Tasks
from ottla.client.admin import Admin
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.async_producer import AsyncProducer
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.producer_settings import ProducerSettings
from ottla.client.settings import AdminSettings, ClientSettings, is_known
from ottla.http.server.callers import Caller
from ottla.http.settings import Cluster
from ottla.security.settings import is_about_security

CLIENT_ID: Final = "ottla-http"
_MOST_CLIENTS: Final = 100
_ADMIN: Final = {
    "client.id": CLIENT_ID,
    # Somebody waits at the other end of the line.
    "default.api.timeout.ms": "8000",
    "request.timeout.ms": "20000",
    "socket.connection.setup.timeout.ms": "3000",
}
_PRODUCER: Final = {
    "client.id": CLIENT_ID,
    "delivery.timeout.ms": "30000",
    "linger.ms": "0",
    # One at a time: behind a batch that a new topic's leader refuses for a moment, Kafka refuses the next one for good.
    "max.in.flight.requests.per.connection": "1",
}


class Link:
    """The way to one cluster. Clients are kept by caller: none is ever used for another."""

    def __init__(self, cluster: Cluster) -> None:
        self.label = cluster.label
        self.colour = cluster.colour
        self._client = dict(cluster.client)
        self._admins: OrderedDict[str, Admin] = OrderedDict()
        self._producers: OrderedDict[str, AsyncProducer] = OrderedDict()
        self._closing = Tasks()
        self._cluster_id: str | None = None

    @property
    def bootstrap(self) -> str:
        """Where its brokers were said to be."""
        return self._client.get("bootstrap.servers", "")

    def admin(self, caller: Caller) -> Admin:
        """The admin client of a caller."""
        found = self._admins.get(caller.key)
        if found is None:
            found = self._admins[caller.key] = Admin(
                self.settings_for(AdminSettings, caller, _ADMIN)
            )
            self._let_go(self._admins)
        self._admins.move_to_end(caller.key)
        return found

    def acting_admin(self, caller: Caller, client_id: str) -> Admin:
        """An admin client of its own, for what the history of the cluster should name; close it."""
        return Admin(self.settings_for(AdminSettings, caller, {**_ADMIN, "client.id": client_id}))

    def producer(self, caller: Caller) -> AsyncProducer:
        """The producer of a caller: its requests share batches."""
        found = self._producers.get(caller.key)
        if found is None:
            settings = self.settings_for(ProducerSettings, caller, _PRODUCER)
            found = self._producers[caller.key] = AsyncProducer(settings)
            self._let_go(self._producers)
        self._producers.move_to_end(caller.key)
        return found

    def consumer(self, caller: Caller, **settings: str) -> AsyncConsumer:
        """A consumer of one request; close it."""
        own = {name.replace("_", "."): value for name, value in settings.items()}
        return AsyncConsumer(
            self.settings_for(ConsumerSettings, caller, {"client.id": CLIENT_ID, **own})
        )

    def settings_for(
        self, table: type[ClientSettings], caller: Caller, defaults: dict[str, str]
    ) -> dict[str, Any]:
        """The settings of a client of some sort: those of the cluster, with the login of the caller."""
        known = {
            name: value
            for name, value in self._client.items()
            if is_known(table, name) or is_about_security(name)
        }
        return {**known, **defaults, **caller.login}

    async def cluster_id(self, caller: Caller) -> str:
        """The id of the cluster; it never changes."""
        if self._cluster_id is None:
            found = await self.admin(caller).describe_cluster()
            self._cluster_id = found.cluster_id or self.label
        return self._cluster_id

    def _let_go(self, clients: OrderedDict[str, Any]) -> None:
        if len(clients) > _MOST_CLIENTS:
            _, oldest = clients.popitem(last=False)
            self._closing.spawn(oldest.close())

    async def close(self) -> None:
        """Close all clients."""
        clients = [*self._admins.values()]
        producers = [*self._producers.values()]
        await asyncio.gather(
            *(each.close() for each in clients),
            *(each.close(5.0) for each in producers),
            return_exceptions=True,
        )
