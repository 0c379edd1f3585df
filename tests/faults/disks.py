"""Disks that run full, and power that goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from tests.faults.fault import SOON_S, Choose, Fault
from tests.faults.scene import Scene
from tests.faults.site import BROKERS, Site
from tests.support.disk import MIB, PowerCutDisk, small_disk

DISK_MIB: Final = 256


class SmallDiskSite(Site):
    """Each broker has a small disk of its own."""

    NEEDS = ("java", "loop devices")

    def prepare(self, stack: ExitStack) -> None:
        for number in BROKERS:
            stack.enter_context(small_disk(self.disk(number), DISK_MIB))

    def disk(self, number: int) -> Path:
        """Where the disk of a broker is mounted."""
        return self.directory / f"disk-{number}"

    def data_dir(self, number: int) -> Path:
        return self.disk(number) / "data"


def fill_up(ballast: Path) -> None:
    """Take all the room that there is, while others take some, too."""
    with ballast.open("wb", buffering=0) as file:
        for size in (MIB, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"\0" * size)


@dataclass(slots=True)
class FullDisk(Fault):
    """The disk of one broker has no room for a while."""

    choose: Choose = Scene.leader
    ballast: Path = field(default=Path(), init=False)

    SITE: ClassVar[type[Site]] = SmallDiskSite

    def strike(self, scene: Scene) -> None:
        site = scene.site
        assert isinstance(site, SmallDiskSite)
        self.ballast = site.disk(self.choose(scene)) / "ballast"
        fill_up(self.ballast)

    def mend(self, scene: Scene) -> None:
        self.ballast.unlink()


class PowerCutSite(Site):
    """Each broker has a disk that keeps what was synced, and nothing else, when the power goes; and syncs all."""

    NEEDS = ("java", "mkfs.ext4", "losetup", "loop devices")

    def prepare(self, stack: ExitStack) -> None:
        self.disks: dict[int, PowerCutDisk] = {}
        for number in BROKERS:
            directory = self.directory / f"machine-{number}"
            directory.mkdir()
            self.disks[number] = PowerCutDisk(directory)
            stack.callback(self.disks[number].unmount)

    def settings(self, number: int) -> dict[str, str]:
        return {**super().settings(number), "log.flush.interval.messages": "1"}

    def data_dir(self, number: int) -> Path:
        return self.disks[number].mount_point / "data"


@dataclass(slots=True)
class PowerCut(Fault):
    """Machines lose their power at once, and all that was not synced."""

    choose: Sequence[int] | None = None
    victims: Sequence[int] = field(default=(), init=False)

    SITE: ClassVar[type[Site]] = PowerCutSite

    def strike(self, scene: Scene) -> None:
        site = scene.site
        assert isinstance(site, PowerCutSite)
        self.victims = self.choose or [scene.leader()]
        for number in self.victims:
            scene.broker(number).kill()
        for number in self.victims:
            site.disks[number].cut_power()

    def mend(self, scene: Scene) -> None:
        order = list(self.victims)
        scene.chance.shuffle(order)
        for number in order:
            scene.broker(number).start()


DISKS = (
    FullDisk("full-disk-of-leader", lasts_s=4, within_s=None),
    FullDisk("full-disk-of-follower", lasts_s=4, within_s=None, choose=Scene.follower),
    FullDisk(
        "full-disk-of-coordinator", lasts_s=4, within_s=None, choose=Scene.transaction_coordinator
    ),
    PowerCut("power-cut-of-leader", within_s=SOON_S),
    PowerCut("power-cut-of-two", within_s=None, choose=(1, 2)),
    PowerCut("power-cut-of-all", within_s=None, choose=BROKERS),
)
