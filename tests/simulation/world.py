"""A cluster in one process: real brokers from the dispatcher down, on real logs, over a simulated network and tree."""

import asyncio
import contextvars
import random
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from ottla.base.clock import Clock
from ottla.base.errors import ClusterError
from ottla.base.ids import id_text
from ottla.broker.apis import APIS_BY_KEY
from ottla.broker.context import Broker
from ottla.broker.dispatch import Dispatcher
from ottla.broker.server import Server
from ottla.cluster.membership import Membership, ensure_secret
from ottla.cluster.registration import check_place, ensure_cluster_id
from ottla.cluster.znodes import Endpoint
from ottla.config.load import load
from ottla.controller.loop import ControllerLoop
from ottla.node.hand_over import HandOver
from ottla.node.node import Node
from ottla.replication.isr_changes import IsrChanges
from ottla.storage.logs import Logs
from tests.simulation.disks import Disks
from tests.simulation.forest import Forest, SimTree
from tests.simulation.network import HERE, Network
from tests.simulation.pace import LONG, Pace

START_MS = 1_700_000_000_000
SETTINGS = (
    "zookeeper.connect=sim:2181",
    "min.insync.replicas=2",
    "replica.fetch.backoff.ms=200",
    "offsets.topic.num.partitions=1",
    "log.cleaner.enable=false",
    "auto.leader.rebalance.enable=false",
)


class Inline(Executor):
    """Does at once what threads would do some time: stories can be told again."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as failure:
            done.set_exception(failure)
        return done


class Host:
    """One broker's machine: what is on its disk stays when the process dies."""

    def __init__(self, world: "World", number: int) -> None:
        self.world = world
        self.number = number
        self.name = f"sim-{number}"
        self.directory = f"/{self.name}"
        self.tree: SimTree | None = None
        self.broker: Broker | None = None
        self._node: Node | None = None
        # Ends when a broker without a disk has stopped by itself.
        self.stopping: asyncio.Task[None] | None = None
        # A copy of its disk, made while it was stopped.
        self.saved: dict[str, dict[str, bytes]] | None = None
        self._context = contextvars.copy_context()
        self._context.run(HERE.set, self.name)
        here = (f"log.dirs={self.directory}", f"broker.id={number}")
        self._settings = load(None, {}, [*here, *SETTINGS, *world.pace.settings()])

    @property
    def running(self) -> bool:
        return self.broker is not None

    async def start(self, registrations: int = 1) -> None:
        """Start the process, as `Node.start` does but for the sockets.

        With more than one registration it loses its session before anybody acts on the one before.
        """
        await asyncio.create_task(self._start(registrations), context=self._context)

    async def _start(self, registrations: int) -> None:
        settings = self._settings
        node = self._node = Node(settings, Clock(self.world.time_ns, self.world.time_ns))
        node._node_id = self.number
        node.on_lost = self._lost
        node._endpoints = (Endpoint("PLAINTEXT", "PLAINTEXT", self.name, 9092),)
        logs = node._logs = Logs(settings.storage, node._log_config, self.world.now_ms)
        logs.executor.shutdown()
        logs.executor = logs.flusher._executor = Inline()  # type: ignore[assignment]
        logs.lock()
        tree = self.tree = SimTree(self.world.forest)
        node._tree = tree
        cluster_id = await ensure_cluster_id(tree)
        logs.identify(cluster_id, self.number, "zookeeper")
        membership = Membership(self.number, cluster_id, await ensure_secret(tree))
        broker = await node._assemble(tree, logs, membership)
        await self._until_the_id_is_free(logs)
        await node._appear(broker)
        for _ in range(registrations - 1):
            self.world.forest.expire(tree.session_id)
            await asyncio.sleep(0.1)
        self._run(node, broker)
        server = node._server = Server(Dispatcher(broker, APIS_BY_KEY), node._live)
        self.world.network.listen(self.name, lambda: server._accept("PLAINTEXT"))
        self.broker = broker

    async def _until_the_id_is_free(self, logs: Logs) -> None:
        """A broker with an empty disk is another one, as far as the registration of the one before it can tell."""
        mine = [id_text(each.directory_id) for each in logs.dirs]
        tree = self.tree
        assert tree is not None
        while True:
            try:
                return await check_place(tree, self.number, mine)
            except ClusterError:
                await asyncio.sleep(0.05)

    def _run(self, node: Node, broker: Broker) -> None:
        metadata, peers = broker.metadata, broker.peers
        now_ms, live = self.world.now_ms, node._live
        isrs = IsrChanges(broker.partitions, peers, lambda: metadata.image, live, now_ms)
        broker.partitions.on_caught_up = isrs.caught_up
        waits = broker.leader_waits
        loop = ControllerLoop(
            broker.controller, broker.elections, metadata, waits, peers, live, now_ms
        )
        node._hand_over = HandOver(broker.elections, broker.controller, peers, metadata, live)
        node._tasks.spawn(isrs.run())
        node._tasks.spawn(loop.run())

    def _lost(self) -> None:
        """No disk is left: the process stops, as `node.run` sees to."""
        self.stopping = asyncio.create_task(self.stop())

    async def stop(self) -> None:
        """SIGTERM: leaders are handed over, the logs are closed cleanly."""
        assert self._node is not None
        assert self._node._hand_over is not None
        await asyncio.create_task(self._node._hand_over(), context=self._context)
        await self._end(clean=True)

    async def kill(self, lost_bytes: int = 0) -> None:
        """SIGKILL; with `lost_bytes` the machine's power fails, and the ends of logs were not on the disk."""
        await self._end(clean=False)
        if lost_bytes:
            self.tear(lost_bytes)

    def tear(self, lost_bytes: int) -> None:
        """The ends of its logs are gone."""
        self.world.disks.tear(f"{self.directory}/t-", ".log", lost_bytes)

    def wipe(self) -> None:
        """Its disk is replaced by an empty one."""
        self.world.disks.remove_tree(self.directory)

    def copy(self) -> dict[str, dict[str, bytes]]:
        """What is on its disk."""
        return self.world.disks.copy_tree(self.directory)

    def restore(self, copy: dict[str, dict[str, bytes]]) -> None:
        """Its disk is replaced by a copy that was made before."""
        self.wipe()
        self.world.disks.paste(copy)

    async def _end(self, *, clean: bool) -> None:
        node, tree, broker = self._node, self.tree, self.broker
        assert node is not None
        assert tree is not None
        assert broker is not None
        self.broker = None
        self.world.network.kill(self.name)
        if clean:
            self.world.forest.expire(tree.session_id)
        tree.die()
        await node._tasks.cancel()
        if node._presence is not None:
            await node._presence.close()
        await broker.metadata.close()
        epoch = broker.membership.broker_epoch
        await broker.logs.close(clean=clean, broker_epoch=epoch)


class World:
    """Hosts, their network and their tree, and the time they live in."""

    def __init__(self, seed: int, hosts: int = 3, pace: Pace = LONG) -> None:
        self.rng = random.Random(seed)
        self.pace = pace
        self.disks = Disks()
        self.network = Network(self.rng)
        self.forest = Forest(self.rng, pace.session_timeout_s)
        self.hosts = [Host(self, number) for number in range(1, hosts + 1)]
        self.story: list[str] = []
        self._awaits_a_send: asyncio.Future[None] | None = None

    def now_ms(self) -> int:
        return START_MS + int(asyncio.get_running_loop().time() * 1000)

    def time_ns(self) -> int:
        """The same in nanoseconds: nobody sets this clock."""
        return self.now_ms() * 1_000_000

    def tell(self, what: str) -> None:
        """Note what happens, for whoever has to find out why it ended badly."""
        self.story.append(f"{asyncio.get_running_loop().time():9.3f}  {what}")

    def alive(self) -> list[Host]:
        return [host for host in self.hosts if host.running]

    async def somebody_sends(self) -> None:
        """Wait until a record is on its way, for a while: a fault in the middle of that says more than one at rest."""
        self._awaits_a_send = asyncio.get_running_loop().create_future()
        await asyncio.wait((self._awaits_a_send,), timeout=1)
        self._awaits_a_send = None

    def sends(self) -> None:
        """A producer sends a record."""
        if self._awaits_a_send is not None and not self._awaits_a_send.done():
            self._awaits_a_send.set_result(None)
