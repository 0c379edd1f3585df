"""Wires that are cut: between brokers, from a broker to ZooKeeper, from clients to a leader; also in one direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from ottla.node.ensemble import LocalEnsemble, Server
from tests.faults.fault import AFTER_SESSION_S, Fault
from tests.faults.namespaces import Bridge, Namespace
from tests.faults.scene import Scene
from tests.faults.site import BROKERS, SESSION_S, Site
from tests.support.broker import OttlaBroker
from tests.support.zookeeper import classpath

PORT: Final = 9092
DROP: Final = "drop"
RESET: Final = "tcp flags & rst == 0 reject with tcp reset"
"""As if nobody listened there; a reset itself gets through, or nobody would hear of it."""
LASTS_S: Final = SESSION_S + 5


class NetworkSite(Site):
    """Each broker has a machine of its own; ZooKeeper and the clients share one."""

    NEEDS = ("java", "nft", "network namespaces")

    def __init__(self, directory: Path, zookeepers: int = 1) -> None:
        super().__init__(directory, zookeepers)
        self.bridge = Bridge(len(BROKERS))

    def prepare(self, stack: ExitStack) -> None:
        self.bridge.open(stack)

    @property
    def connect(self) -> str:
        ports = [server.client_port for server in self.ensemble.servers]
        return ",".join(f"{self.bridge.address}:{port}" for port in ports) + "/faults"

    def namespace(self, number: int) -> Namespace:
        """The machine of a broker."""
        return self.bridge.namespaces[number - 1]

    def make_ensemble(self) -> AbstractContextManager[LocalEnsemble]:
        return reachable_ensemble(self.directory / "zookeeper", self.zookeepers)

    def make_broker(self, number: int, settings: dict[str, str]) -> OttlaBroker:
        return RemoteBroker(
            self.namespace(number), self.data_dir(number), settings, self.log_file(number)
        )


class RemoteBroker(OttlaBroker):
    """A broker in a network namespace."""

    def __init__(
        self, namespace: Namespace, data_dir: Path, settings: dict[str, str], log_file: Path
    ) -> None:
        super().__init__(data_dir, settings, log_file)
        self.namespace = namespace
        self.settings["listeners"] = f"PLAINTEXT://{namespace.address}:{PORT}"

    def command(self, port: int) -> list[str]:
        """Its own machine has its port free, always the same one."""
        command = super().command(port)
        at = command.index("--port")
        return self.namespace.enter([*command[:at], *command[at + 2 :]])


class ReachableEnsemble(LocalEnsemble):
    """Servers that listen to other machines, too."""

    def _settings(self, server: Server) -> dict[str, str]:
        return {**super()._settings(server), "clientPortAddress": "0.0.0.0"}


@contextmanager
def reachable_ensemble(directory: Path, servers: int) -> Iterator[LocalEnsemble]:
    """The same as other tests have, but for where it listens."""
    options = ("-Dzookeeper.forceSync=no",)
    with ReachableEnsemble(
        directory, servers, classpath=classpath(), jvm_options=options
    ) as started:
        yield started


def both_ways(address: str) -> list[str]:
    """The rules that cut a broker from an address, in both directions."""
    return [f"incoming ip saddr {address} {DROP}", f"outgoing ip daddr {address} {DROP}"]


def to_zookeeper(site: NetworkSite, verdict: str = DROP) -> list[str]:
    """The rules that keep a broker from ZooKeeper, and not from the clients beside it."""
    ports = [server.client_port for server in site.ensemble.servers]
    return [f"outgoing ip daddr {site.bridge.address} tcp dport {port} {verdict}" for port in ports]


def from_clients(site: NetworkSite) -> list[str]:
    """The rules that cut a broker from its clients, and not from ZooKeeper beside them."""
    address = site.bridge.address
    return [
        f"incoming ip saddr {address} tcp dport {PORT} {DROP}",
        f"outgoing ip daddr {address} tcp sport {PORT} {DROP}",
    ]


def others(site: NetworkSite, number: int) -> list[str]:
    """The addresses of the other brokers."""
    return [site.namespace(each).address for each in BROKERS if each != number]


Rules = dict[int, list[str]]
"""What each broker's machine lets neither in nor out."""


def isolated_leader(scene: Scene, site: NetworkSite) -> Rules:
    """A leader sees neither brokers nor ZooKeeper; clients still reach it."""
    leader = scene.leader()
    cut = [rule for address in others(site, leader) for rule in both_ways(address)]
    return {leader: [*cut, *to_zookeeper(site)]}


def isolated_majority(scene: Scene, site: NetworkSite) -> Rules:
    """One broker keeps ZooKeeper for itself; the two others see each other alone."""
    alone = scene.chance.choice(BROKERS)
    address = site.namespace(alone).address
    return {each: [*both_ways(address), *to_zookeeper(site)] for each in BROKERS if each != alone}


def ring(scene: Scene, site: NetworkSite) -> Rules:
    """Everybody sees a majority, and no two the same one: one wire between two brokers is cut."""
    one, other = scene.chance.sample(BROKERS, 2)
    return {one: both_ways(site.namespace(other).address)}


def deaf_leader(scene: Scene, site: NetworkSite) -> Rules:
    """What the other brokers send to a leader is lost; what it sends to them arrives."""
    leader = scene.leader()
    return {leader: [f"incoming ip saddr {each} {DROP}" for each in others(site, leader)]}


def mute_leader(scene: Scene, site: NetworkSite) -> Rules:
    """What a leader sends to the other brokers is lost; what they send arrives."""
    leader = scene.leader()
    return {leader: [f"outgoing ip daddr {each} {DROP}" for each in others(site, leader)]}


def leader_without_zookeeper(scene: Scene, site: NetworkSite) -> Rules:
    """A leader sees everybody but ZooKeeper."""
    return {scene.leader(): to_zookeeper(site)}


def controller_without_zookeeper(scene: Scene, site: NetworkSite) -> Rules:
    """The controller sees everybody but ZooKeeper, which resets its connections."""
    return {scene.controller(): to_zookeeper(site, RESET)}


def leader_without_clients(scene: Scene, site: NetworkSite) -> Rules:
    """Brokers see a leader, clients do not."""
    return {scene.leader(): from_clients(site)}


def leader_that_seems_dead(scene: Scene, site: NetworkSite) -> Rules:
    """Between the controller and a leader connections are reset, as if nobody listened there any more."""
    controller = scene.controller()
    leaders = {each.leader for each in scene.tree.states(scene.cast.source).values()}
    leader = scene.chance.choice(sorted(leaders - {controller}))
    return {
        one: [f"incoming ip saddr {site.namespace(other).address} {RESET}"]
        for one, other in ((leader, controller), (controller, leader))
    }


@dataclass(slots=True)
class Partition(Fault):
    """Some wires are cut for a while."""

    rules: Callable[[Scene, NetworkSite], Rules] = ring

    SITE: ClassVar[type[Site]] = NetworkSite

    def strike(self, scene: Scene) -> None:
        site = network_of(scene)
        for number, rules in self.rules(scene, site).items():
            site.namespace(number).rules(*rules)

    def mend(self, scene: Scene) -> None:
        for number in BROKERS:
            network_of(scene).namespace(number).heal()


@dataclass(slots=True)
class Reset(Partition):
    """The same, and connections that exist between those who are cut off are reset, too."""

    def strike(self, scene: Scene) -> None:
        site = network_of(scene)
        rules = self.rules(scene, site)
        for number, its in rules.items():
            site.namespace(number).rules(*its)
        for number in rules:
            for other in rules:
                site.namespace(number).hang_up(site.namespace(other).address)


def network_of(scene: Scene) -> NetworkSite:
    """The site, which has a network."""
    assert isinstance(scene.site, NetworkSite)
    return scene.site


def _cut(
    name: str,
    rules: Callable[[Scene, NetworkSite], Rules],
    within_s: float | None = AFTER_SESSION_S,
) -> Partition:
    return Partition(name, LASTS_S, within_s, rules)


PARTITIONS = (
    _cut("cut-leader", isolated_leader),
    _cut("cut-majority", isolated_majority, within_s=None),
    _cut("cut-ring", ring),
    _cut("cut-to-leader", deaf_leader),
    _cut("cut-from-leader", mute_leader),
    _cut("cut-leader-zookeeper", leader_without_zookeeper),
    _cut("cut-controller-zookeeper", controller_without_zookeeper),
    # Those who are cut off from the only one who may take their records wait until they are not.
    _cut("cut-clients-leader", leader_without_clients, within_s=None),
    # Both live on with the wire between them cut: a leader needs the controller to be rid of a replica that lags.
    Reset("reset-controller-leader", LASTS_S, None, leader_that_seems_dead),
)
