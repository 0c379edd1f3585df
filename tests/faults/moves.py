"""What operators do under load: move partitions and leaders, and restart one broker after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.base.ids import TopicPartition
from ottla.client.sync_admin import SyncAdmin
from tests.faults.fault import SOON_S, Fault
from tests.faults.scene import Scene
from tests.faults.site import BROKERS
from tests.support.waiting import wait_for

MOVED_S = 30.0

Placement = Mapping[TopicPartition, list[int]]


def move(scene: Scene, targets: Placement) -> None:
    """Have partitions on these replicas, and wait until they are."""
    with SyncAdmin({"bootstrap.servers": scene.site.bootstrap}) as admin:
        answers = admin.alter_partition_reassignments(dict(targets))
        assert not any(answers.values()), answers

    def is_done() -> bool:
        scene.cast.check_failures()
        return all(
            scene.tree.replicas(tp.topic).get(tp.partition) == ids for tp, ids in targets.items()
        )

    wait_for(is_done, "partitions to move", MOVED_S, 0.1)


def prefer(scene: Scene, targets: Placement) -> None:
    """Have the first replicas lead, and wait until they do."""
    with SyncAdmin({"bootstrap.servers": scene.site.bootstrap}) as admin:
        admin.elect_leaders(partitions=list(targets))

    def is_done() -> bool:
        return all(
            scene.tree.leader(tp.topic, tp.partition) == ids[0] for tp, ids in targets.items()
        )

    wait_for(is_done, "leaders to move", MOVED_S, 0.1)


def placed(scene: Scene, first: Mapping[TopicPartition, int]) -> Placement:
    """All brokers hold each of these partitions, with one of them in front."""
    return {
        tp: [leader, *(each for each in BROKERS if each != leader)] for tp, leader in first.items()
    }


def partitions(scene: Scene, *topics: str) -> list[TopicPartition]:
    """The partitions of some topics."""
    return [TopicPartition(topic, n) for topic in topics for n in scene.tree.replicas(topic)]


def lead_everything(scene: Scene, broker: int) -> None:
    """Have one broker lead all that the clients use."""
    targets = placed(scene, dict.fromkeys(partitions(scene, *scene.topics), broker))
    move(scene, targets)
    prefer(scene, targets)


@dataclass(slots=True)
class Reassignment(Fault):
    """Partitions lose a replica and get it back, and their leaders move, while everybody writes."""

    def strike(self, scene: Scene) -> None:
        """The records of the workload go to two of the brokers, other ones for each partition."""
        moved = {
            tp: scene.chance.sample(BROKERS, 2)
            for tp in partitions(scene, scene.cast.source, scene.cast.target)
        }
        move(scene, moved)

    def mend(self, scene: Scene) -> None:
        everything = partitions(scene, scene.cast.source, scene.cast.target)
        targets = {tp: scene.chance.sample(BROKERS, 3) for tp in everything}
        move(scene, targets)
        scene.settle()
        prefer(scene, targets)


@dataclass(slots=True)
class RollingRestart(Fault):
    """Each broker is stopped cleanly and started again, one after the other."""

    def strike(self, scene: Scene) -> None:
        """The first stops when the fault begins to last."""

    def while_it_lasts(self, scene: Scene) -> None:
        for number in BROKERS:
            assert scene.broker(number).stop() == 0, f"broker {number} did not stop cleanly"
            scene.hold(self.lasts_s)
            scene.broker(number).start()
            scene.settle()


MOVES = (
    RollingRestart("rolling-restart", lasts_s=1, within_s=SOON_S),
    Reassignment("reassignment", lasts_s=1, within_s=SOON_S),
    # While fetches of the replicas that leave are still on their way.
    Reassignment("reassignment-and-back-at-once", lasts_s=0, within_s=SOON_S),
)
