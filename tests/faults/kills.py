"""kill -9: of whoever matters most at the moment, of ZooKeeper, and of everybody at once."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

from tests.faults.fault import Choose, Fault
from tests.faults.scene import Scene
from tests.faults.site import BROKERS


@dataclass(slots=True)
class KillBroker(Fault):
    """One broker dies; it comes back on its data."""

    choose: Choose = Scene.leader
    victim: int = field(default=0, init=False)

    def strike(self, scene: Scene) -> None:
        self.victim = self.choose(scene)
        scene.broker(self.victim).kill()

    def mend(self, scene: Scene) -> None:
        scene.broker(self.victim).start()


@dataclass(slots=True)
class KillEverything(Fault):
    """All brokers die at once, and perhaps ZooKeeper with them; they come back in any order."""

    zookeeper_too: bool = False

    def strike(self, scene: Scene) -> None:
        for number in BROKERS:
            os.kill(scene.broker(number).pid, signal.SIGKILL)
        for number in BROKERS:
            scene.broker(number).kill()
        if self.zookeeper_too:
            kill_zookeeper(scene)

    def mend(self, scene: Scene) -> None:
        if self.zookeeper_too:
            start_zookeeper(scene)
        order = list(BROKERS)
        scene.chance.shuffle(order)
        for number in order:
            scene.broker(number).start()


@dataclass(slots=True)
class KillZookeeper(Fault):
    """The only ZooKeeper dies, for shorter or longer than a session lasts."""

    def strike(self, scene: Scene) -> None:
        kill_zookeeper(scene)

    def mend(self, scene: Scene) -> None:
        start_zookeeper(scene)


def kill_zookeeper(scene: Scene) -> None:
    """SIGKILL to all servers."""
    for server in scene.site.ensemble.servers:
        server.kill()


def start_zookeeper(scene: Scene) -> None:
    """All servers again, on their data."""
    ensemble = scene.site.ensemble
    for server in ensemble.servers:
        ensemble.launch(server)
    for server in ensemble.servers:
        ensemble.wait_until_serving(server)


def leader_that_is_controller(scene: Scene) -> int:
    """The controller, having been made a leader too, if it was none."""
    controller = scene.controller()
    if controller not in {each.leader for each in scene.tree.states(scene.cast.source).values()}:
        from tests.faults.moves import lead_everything

        lead_everything(scene, controller)
    return scene.controller()


KILLS = (
    KillBroker("kill-leader"),
    KillBroker("kill-follower", choose=Scene.follower),
    KillBroker("kill-controller", choose=Scene.controller),
    KillBroker("kill-leading-controller", choose=leader_that_is_controller),
    KillBroker("kill-group-coordinator", choose=Scene.group_coordinator),
    KillBroker("kill-transaction-coordinator", choose=Scene.transaction_coordinator),
    KillZookeeper("kill-zookeeper", lasts_s=3),
    KillZookeeper("kill-zookeeper-for-long", lasts_s=12, within_s=None),
    KillEverything("kill-all-brokers", lasts_s=0, within_s=None),
    KillEverything("kill-all-and-zookeeper", lasts_s=0, within_s=None, zookeeper_too=True),
)
