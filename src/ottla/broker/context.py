"""What a handler may use: the services of this broker, and who is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.base.tasks import Tasks

if TYPE_CHECKING:
    from ottla.broker.connection import Connection
    from ottla.broker.fetch_sessions import FetchSessions
    from ottla.cluster.metadata import Metadata
    from ottla.cluster.producer_ids import ProducerIds
    from ottla.config.live import LiveSettings
    from ottla.controller.controller import Controller
    from ottla.replication.partitions import Partitions
    from ottla.storage.logs import Logs


@dataclass(slots=True, kw_only=True)
class Broker:
    """The services that requests are made of; built once, in `ottla.node`."""

    node_id: int
    settings: LiveSettings
    metadata: Metadata
    controller: Controller
    partitions: Partitions
    logs: Logs
    producer_ids: ProducerIds
    fetch_sessions: FetchSessions
    executor: Executor
    tasks: Tasks
    loop: asyncio.AbstractEventLoop
    now_ms: Callable[[], int]


class RequestContext:
    """One request: who sent it, in which version, and the broker that answers."""

    __slots__ = ("broker", "client_id", "connection", "correlation_id", "version")

    def __init__(
        self,
        broker: Broker,
        connection: Connection,
        version: int,
        correlation_id: int,
        client_id: str | None,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
