"""What a handler may use: the services of this broker, and who is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ottla.base.log import logger
from ottla.base.tasks import Tasks
from ottla.broker import metrics
from ottla.broker.reply import CloseConnection

if TYPE_CHECKING:
    from ottla.broker.commits_together import CommitsTogether
    from ottla.broker.connection import Connection
    from ottla.broker.fetch_sessions import FetchSessions
    from ottla.cluster.leader_waits import LeaderWaits
    from ottla.cluster.membership import Membership
    from ottla.cluster.metadata import Metadata
    from ottla.cluster.peers import Peers
    from ottla.cluster.producer_ids import ProducerIds
    from ottla.config.live import LiveSettings
    from ottla.controller.controller import Controller
    from ottla.controller.elections import Elections
    from ottla.coordination.groups.shard import GroupShard
    from ottla.coordination.runtime import Coordinator
    from ottla.coordination.transactions.markers import MarkerWriter
    from ottla.coordination.transactions.shard import TransactionShard
    from ottla.replication.partitions import Partitions
    from ottla.storage.logs import Logs

log = logger(__name__)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Broker:
    """The services that requests are made of; built once, in `ottla.node`."""

    node_id: int
    membership: Membership
    settings: LiveSettings
    metadata: Metadata
    leader_waits: LeaderWaits
    controller: Controller
    elections: Elections
    peers: Peers
    partitions: Partitions
    logs: Logs
    producer_ids: ProducerIds
    groups: Coordinator[GroupShard]
    transactions: Coordinator[TransactionShard]
    markers: MarkerWriter
    fetch_sessions: FetchSessions
    executor: Executor
    tasks: Tasks
    loop: asyncio.AbstractEventLoop
    now_ms: Callable[[], int]
    commits: CommitsTogether = field(init=False)

    def __post_init__(self) -> None:
        from ottla.broker.commits_together import CommitsTogether

        self.commits = CommitsTogether(self)


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

    def go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Finish the request beside the loop; if that fails in a way nobody foresaw, the client sees a hang-up."""
        self.broker.tasks.spawn(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except CloseConnection as why:
            self.connection.refuse(why)
        except Exception:
            self.log_failure()
            self.connection.abort()

    def log_failure(self) -> None:
        """Write down the failure being handled; its traceback names the API."""
        metrics.UNEXPECTED_FAILURES.value += 1
        log.exception("request failed", version=self.version, client=self.client_id)
