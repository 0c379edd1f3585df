"""SIGSTOP: processes that hang, for shorter and longer than sessions and lags allow, and then go on as before."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

from tests.faults.fault import AFTER_SESSION_S, Choose, Fault
from tests.faults.scene import Scene
from tests.faults.site import LAG_S, SESSION_S
from tests.faults.zombie import ZombieWrites
from tests.support.zookeeper import freeze, thaw


@dataclass(slots=True)
class PauseBroker(Fault):
    """One broker hangs; if others replace it meanwhile, what reaches it when it goes on must not be acknowledged."""

    choose: Choose = Scene.leader
    victim: int = field(default=0, init=False)

    def strike(self, scene: Scene) -> None:
        self.victim = self.choose(scene)
        os.kill(scene.broker(self.victim).pid, signal.SIGSTOP)

    def mend(self, scene: Scene) -> None:
        with ZombieWrites(scene, self.victim) as writes:
            writes.send()
            os.kill(scene.broker(self.victim).pid, signal.SIGCONT)
            writes.hear()


@dataclass(slots=True)
class PauseZookeeper(Fault):
    """ZooKeeper hangs."""

    def strike(self, scene: Scene) -> None:
        for server in scene.site.ensemble.servers:
            freeze(server)

    def mend(self, scene: Scene) -> None:
        for server in scene.site.ensemble.servers:
            thaw(server)


PAUSES = (
    PauseBroker("pause-leader-1s", lasts_s=1, within_s=AFTER_SESSION_S),
    PauseBroker("pause-leader-within-session", lasts_s=SESSION_S - 2, within_s=AFTER_SESSION_S),
    PauseBroker("pause-leader-beyond-session", lasts_s=SESSION_S + 4, within_s=AFTER_SESSION_S),
    PauseBroker("pause-leader-60s", lasts_s=60, within_s=AFTER_SESSION_S),
    PauseBroker(
        "pause-follower-beyond-lag",
        lasts_s=LAG_S + 4,
        within_s=AFTER_SESSION_S,
        choose=Scene.follower,
    ),
    PauseBroker(
        "pause-controller-beyond-session",
        lasts_s=SESSION_S + 4,
        within_s=AFTER_SESSION_S,
        choose=Scene.controller,
    ),
    PauseBroker(
        "pause-transaction-coordinator",
        lasts_s=SESSION_S + 4,
        within_s=AFTER_SESSION_S,
        choose=Scene.transaction_coordinator,
    ),
    PauseZookeeper("pause-zookeeper-within-session", lasts_s=SESSION_S - 2),
    PauseZookeeper("pause-zookeeper-beyond-session", lasts_s=SESSION_S + 4, within_s=None),
)
