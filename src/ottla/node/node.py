"""Builds a broker from its settings; `start` and `stop` read top to bottom as what happens."""

from __future__ import annotations

import asyncio
import random
import resource
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from ottla.base.clock import Clock
from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition, id_text
from ottla.base.log import logger, set_level
from ottla.base.tasks import Tasks
from ottla.broker.apis import APIS_BY_KEY
from ottla.broker.context import Broker
from ottla.broker.dispatch import Dispatcher
from ottla.broker.fetch_sessions import FetchSessions
from ottla.broker.internal_topics import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from ottla.broker.pauses import PauseWatch
from ottla.broker.server import Server
from ottla.cluster.image import Delta, Image, TopicChange
from ottla.cluster.leader_waits import LeaderWaits
from ottla.cluster.membership import Membership, ensure_secret
from ottla.cluster.metadata import Metadata
from ottla.cluster.peers import Peers
from ottla.cluster.presence import Presence
from ottla.cluster.producer_ids import ProducerIds
from ottla.cluster.registration import NOT_CLEAN, Proof, Registration
from ottla.cluster.tree import SessionState, Tree
from ottla.cluster.znodes import BrokerNode, Endpoint
from ottla.config.dynamic import Overlay
from ottla.config.live import LiveSettings
from ottla.config.log import LogConfig
from ottla.config.table import Settings
from ottla.controller.controller import Controller
from ottla.controller.elections import Elections
from ottla.controller.loop import ControllerLoop
from ottla.controller.min_isr import MIN_ISR
from ottla.coordination.groups.topics import Topics
from ottla.coordination.runtime import Coordinator
from ottla.coordination.transactions.markers import MarkerWriter, OnMarker
from ottla.coordination.transactions.room import Room
from ottla.node.hand_over import HandOver
from ottla.node.metrics import watch_coordinators, watch_gauges
from ottla.node.metrics_page import serve_metrics
from ottla.node.reopening import keep_opening
from ottla.node.sockets import advertised_host, bind
from ottla.node.tree import open_home
from ottla.protocol.errors import ErrorCode
from ottla.replication.fetchers import Fetchers
from ottla.replication.isr_changes import IsrChanges
from ottla.replication.partitions import Partitions
from ottla.storage.logs import Logs

if TYPE_CHECKING:
    from ottla.coordination.groups.shard import GroupShard
    from ottla.coordination.transactions.shard import TransactionShard

log = logger(__name__)


def make_server(broker: Broker) -> Server:
    """Serves every API of the table."""
    return Server(Dispatcher(broker, APIS_BY_KEY), broker.settings)


class Node:
    """One broker and everything it is made of."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        make_server: Callable[[Broker], Server] = make_server,
    ) -> None:
        self._settings = settings
        self._clock = clock or Clock()
        self._now_ms = self._clock.now_ms
        self._make_server = make_server
        self._live = LiveSettings(settings)
        self._node_id = settings.server.node_id
        self._tasks = Tasks()
        self._pauses = PauseWatch()
        self._endpoints: tuple[Endpoint, ...] = ()
        self._tree: Tree | None = None
        self._presence: Presence | None = None
        self._metadata: Metadata | None = None
        self._logs: Logs | None = None
        self._server: Server | None = None
        self._http: list[asyncio.Server] = []
        self._partitions: Partitions | None = None
        self._peers: Peers | None = None
        self._hand_over: HandOver | None = None
        self._opened = False
        self._ready = False
        # Whether no log directory works any more, and who hears of that: whoever runs this node is to stop it.
        self.is_lost = False
        self.on_lost: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Come up in an order in which nothing is promised that is not there yet."""
        _raise_file_limit()
        sockets = self._bind()
        logs = self._logs = Logs(self._settings.storage, self._log_config, self._now_ms)
        logs.lock()
        tree, cluster_id, self._node_id = await open_home(self._settings, logs)
        self._tree = tree
        membership = Membership(self._node_id, cluster_id, await ensure_secret(tree))
        broker = await self._assemble(tree, logs, membership)
        await self._appear(broker)
        self._server = self._make_server(broker)
        self._http = await serve_metrics(
            self._settings.ottla.metrics_listener,
            self._settings.server.listeners[0].port,
            self._health,
        )
        self._run_beside(broker)
        for listener, bound in sockets:
            await self._server.listen(bound, listener)
        self._hand_over = HandOver(
            broker.elections, broker.controller, broker.peers, broker.metadata, self._live
        )
        self._ready = True
        metrics = self.metrics_address or "none"
        log.info("broker ready", node=self._node_id, address=self.bootstrap, metrics=metrics)

    async def _assemble(self, tree: Tree, logs: Logs, membership: Membership) -> Broker:
        """Build everything that requests are made of, from the logs up; nobody outside knows of it yet."""
        metadata = self._metadata = Metadata(tree)
        partitions = self._partitions = Partitions(membership, logs, self._live, self._now_ms)
        peers = self._peers = self._introduce(membership, metadata)
        controller = Controller(metadata, self._live, self._node_id)
        fetchers = Fetchers(peers, logs, self._live, self._tasks, self._now_ms)
        partitions.on_placed, partitions.on_removed = fetchers.place, fetchers.remove
        metadata.subscribe(self._apply_settings)
        await metadata.open()
        partitions.open(metadata.image)
        self._opened = True
        metadata.subscribe(partitions.apply)
        groups = await self._coordinate_groups(metadata, partitions, membership)
        producer_ids = ProducerIds(tree, self._node_id)
        markers = MarkerWriter(
            partitions,
            peers,
            lambda: metadata.image,
            self._tasks,
            self._now_ms,
            _completes_offsets(groups),
        )
        slots = self._settings.server.max_incremental_fetch_session_cache_slots
        return Broker(
            node_id=self._node_id,
            membership=membership,
            settings=self._live,
            metadata=metadata,
            leader_waits=LeaderWaits(metadata, peers),
            controller=controller,
            elections=Elections(controller, metadata, peers, self._live),
            peers=peers,
            partitions=partitions,
            logs=logs,
            producer_ids=producer_ids,
            groups=groups,
            transactions=await self._coordinate_transactions(
                metadata, partitions, producer_ids, markers, membership
            ),
            markers=markers,
            fetch_sessions=FetchSessions(slots, lambda: random.randrange(1, 2**31)),
            executor=logs.executor,
            tasks=self._tasks,
            loop=asyncio.get_running_loop(),
            now_ms=self._now_ms,
        )

    def _run_beside(self, broker: Broker) -> None:
        """Start what runs as long as the broker does: duties of the logs, ISRs, the controller's loop, watches."""
        metadata, partitions, peers = broker.metadata, broker.partitions, broker.peers
        isrs = IsrChanges(partitions, peers, lambda: metadata.image, self._live, self._now_ms)
        partitions.on_caught_up = isrs.caught_up
        cluster = ControllerLoop(
            broker.controller,
            broker.elections,
            metadata,
            broker.leader_waits,
            peers,
            self._live,
            self._now_ms,
        )
        broker.logs.start()
        watch_gauges(partitions, broker.fetch_sessions, broker.logs)
        watch_coordinators(broker.groups, broker.transactions)
        self._pauses.start()
        for running in (self._pauses.run(), isrs.run(), cluster.run()):
            self._tasks.spawn(running)
        self._tasks.keep("unopened partitions", partial(keep_opening, partitions, metadata))

    async def stop(self) -> None:
        """Go down in the reverse order: first nobody asks, then nothing runs, then everything is on disk."""
        self._ready = False
        if self._hand_over is not None:
            await self._hand_over()
        for page in self._http:
            page.close()
        if self._server is not None:
            await self._server.stop()
        await self._tasks.cancel()
        self._pauses.stop()
        if self._presence is not None:
            await self._presence.close()
        if self._peers is not None:
            await self._peers.close()
        if self._metadata is not None:
            await self._metadata.close()
        if self._logs is not None:
            # A start that failed half-way has nothing to vouch for: the directories may be another broker's.
            await self._logs.close(clean=self._opened, broker_epoch=self._broker_epoch())
        if self._tree is not None:
            await self._tree.close()
        if self._opened:
            log.info("broker stopped", node=self._node_id)

    @property
    def node_id(self) -> int:
        """The id of this broker."""
        return self._node_id

    @property
    def bootstrap(self) -> str:
        """The first address that clients are told."""
        first = self._endpoints[0]
        return f"{first.host}:{first.port}"

    @property
    def ready_line(self) -> str:
        """The line that scripts wait for."""
        return f"ottla broker {self._node_id} ready on {self.bootstrap}"

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """Where the data are."""
        return self._settings.storage.log_dirs

    @property
    def metrics_address(self) -> str | None:
        """Where /metrics and /health are served, if they are."""
        listener = self._settings.ottla.metrics_listener
        if listener is None or not self._http:
            return None
        return str(listener._replace(port=self._http[0].sockets[0].getsockname()[1]))

    def _bind(self) -> list[tuple[str, socket.socket]]:
        """Bind every listener, so that the ports are known before the broker registers itself."""
        server = self._settings.server
        protocols = dict(server.listener_security_protocol_map)
        advertised = {each.name: each for each in server.advertised_listeners}
        sockets, endpoints = [], []
        for listener in server.listeners:
            bound = bind(listener.host, listener.port)
            sockets += [(listener.name, each) for each in bound]
            told = advertised.get(listener.name, listener)
            port = told.port or bound[0].getsockname()[1]
            protocol = protocols.get(listener.name, "PLAINTEXT")
            endpoints.append(Endpoint(listener.name, protocol, advertised_host(told.host), port))
        self._endpoints = tuple(endpoints)
        return sockets

    def _broker_epoch(self) -> int:
        return -1 if self._peers is None else self._peers.membership.broker_epoch

    def _introduce(self, membership: Membership, metadata: Metadata) -> Peers:
        config = self._settings.replication
        listener = config.inter_broker_listener_name or self._endpoints[0].listener
        return Peers(membership, lambda: metadata.image, listener, config.replica_socket_timeout_ms)

    def _log_config(self, topic: str) -> LogConfig:
        return self._partitions.log_config(topic) if self._partitions else self._live.now.log

    def _description(self) -> BrokerNode:
        return BrokerNode(
            self._endpoints,
            self._settings.server.broker_rack,
            self._now_ms(),
            machine=socket.gethostname(),
        )

    def _apply_settings(self, image: Image, delta: Delta) -> None:
        """Dynamic settings first: the partitions that follow are opened with them."""
        if delta.broker_configs:
            dynamic = image.broker_config(None), image.broker_config(self._node_id)
            self._live.update(Overlay(self._settings, *dynamic))
            set_level(self._live.now.ottla.log_level)
            self._tell_min_isr(dynamic[0].get(MIN_ISR))
            if self._logs is not None:
                self._logs.config = self._live.now.storage

    def _tell_min_isr(self, of_cluster: str | None) -> None:
        own = self._settings.log.min_insync_replicas
        if of_cluster is not None and int(of_cluster) != own:
            log.warning(
                f"{MIN_ISR} is {of_cluster} in the whole cluster, and not {own} as this broker was started with; to"
                f" change it: ottla configs set --all-brokers {MIN_ISR}={own}"
            )

    async def _appear(self, broker: Broker) -> None:
        """Register, and again whenever the registration is gone: then the epochs are new ones."""

        async def registered(registration: Registration) -> None:
            broker.membership.broker_epoch = registration.broker_epoch
            broker.membership.incarnation = registration.incarnation
            broker.membership.life = registration.life
            await broker.metadata.refreshed()
            # The controller may have been faster: what it gave us looked like the leadership of another life.
            await broker.metadata.told_again(broker.partitions.unclaimed())
            broker.membership.is_current = True
            await broker.controller.elect(self._now_ms())

        def heard(state: SessionState) -> None:
            if state is SessionState.LOST:
                broker.membership.is_current = False

        def directories() -> list[str]:
            dirs = broker.logs.dirs
            return [id_text(each.directory_id) for each in dirs if each.offline is None]

        tree = broker.metadata.tree
        tree.watch_session(heard)
        clean_epoch = broker.logs.previous_broker_epoch
        if broker.partitions.is_missing_logs:
            clean_epoch = NOT_CLEAN
        proof = Proof(uuid4().hex, clean_epoch)
        self._presence = Presence(
            tree, self._node_id, self._description, directories, registered, proof
        )
        broker.partitions.on_directory_lost = self._directory_lost
        await self._presence.open()

    def _directory_lost(self) -> None:
        """What this broker leads on a dead disk must be led by others; with its last disk gone it is of no use.

        It registers anew, with the directories that are left. That begins another life: the controller gives what it
        leads to others, and it has to catch up wherever it can.
        """
        assert self._logs is not None
        if all(each.offline is not None for each in self._logs.dirs):
            log.error("the last log directory has failed, the broker stops", node=self._node_id)
            self.is_lost = True
            self.on_lost()
        elif self._presence is not None:
            self._presence.look_again()

    async def _coordinate_groups(
        self, metadata: Metadata, partitions: Partitions, membership: Membership
    ) -> Coordinator[GroupShard]:
        """Load the groups whose partitions are here; from now on they follow the topics."""
        topics = Topics(metadata.image)

        def make_shard(index: int) -> GroupShard:
            # Not before there is a group: its machine is a fifth of all that a broker is made of.
            from ottla.coordination.groups.shard import GroupShard

            return GroupShard(self._live.now.groups, topics)

        def follow(image: Image, delta: Delta) -> None:
            if delta.broker_configs:
                groups.tell_all(lambda shard: shard.configure(self._live.now.groups))
            if delta.topics:
                groups.write_everywhere(lambda shard, now: shard.topics_changed(delta, now))

        groups = Coordinator(
            GROUPS_TOPIC,
            make_shard,
            partitions,
            self._tasks,
            self._clock,
            lambda: membership.is_current,
        )
        metadata.subscribe(topics.apply)
        metadata.subscribe(groups.apply)
        metadata.subscribe(follow)
        await groups.apply(metadata.image, _everything(metadata.image))
        return groups

    async def _coordinate_transactions(
        self,
        metadata: Metadata,
        partitions: Partitions,
        producer_ids: ProducerIds,
        markers: MarkerWriter,
        membership: Membership,
    ) -> Coordinator[TransactionShard]:
        """Load the transactions whose partitions are here; those that were being completed are completed."""

        def new_producer_id() -> int:
            taken = producer_ids.take()
            if taken is None:
                raise ApiError(
                    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "producer ids are being fetched"
                )
            return taken

        def count_open() -> int:
            return sum(shard.open_count for shard in transactions.loaded_shards())

        room = Room(self._settings.transactions.max_open_transactions, count_open)

        def topic_id(name: str) -> UUID | None:
            topic = metadata.image.topics.get(name)
            return None if topic is None else topic.topic_id

        def make_shard(index: int) -> TransactionShard:
            from ottla.coordination.transactions.shard import TransactionShard

            return TransactionShard(
                self._settings.transactions,
                new_producer_id,
                markers,
                lambda: transactions.partition_count,
                topic_id,
                room,
            )

        transactions = Coordinator(
            TRANSACTIONS_TOPIC,
            make_shard,
            partitions,
            self._tasks,
            self._clock,
            lambda: membership.is_current,
        )
        markers.serve(transactions)
        metadata.subscribe(transactions.apply)
        await transactions.apply(metadata.image, _everything(metadata.image))
        return transactions

    def _health(self) -> dict[str, object]:
        dirs = self._logs.dirs if self._logs is not None else []
        offline = [each.path for each in dirs if each.offline is not None]
        return {
            "live": True,
            "ready": self._ready and not offline,
            "node_id": self._node_id,
            "offline_log_dirs": offline,
        }


def _everything(image: Image) -> Delta:
    """An image as the change that it is to somebody who has seen none."""
    return Delta(topics={name: TopicChange(None, topic) for name, topic in image.topics.items()})


def _completes_offsets(groups: Coordinator[GroupShard]) -> OnMarker:
    """A marker in the offsets topic decides over the offsets that were committed in the transaction."""

    def on_marker(tp: TopicPartition, producer_id: int, committed: bool) -> None:
        if tp.topic == GROUPS_TOPIC:
            groups.replay_marker(tp.partition, producer_id, committed)

    return on_marker


def _raise_file_limit() -> None:
    """A thousand partitions and two thousand clients need more files than the usual 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
