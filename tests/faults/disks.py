"""Disks that run full, and power that goes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from tests.faults.fault import SOON_S, Choose, Fault
from tests.faults.scene import Scene
from tests.faults.site import BROKERS, Site
from tests.support.broker import OttlaBroker
from tests.support.disk import MIB, PowerCutDisk, small_disk
from tests.support.waiting import wait_for

DISK_MIB: Final = 256
ENDS_WITHIN_S: Final = 20.0


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


class FailingDiskSite(Site):
    """Each broker has a disk that fails when somebody says so."""

    def flag(self, number: int) -> Path:
        """While it is there, the disk of a broker takes no writes."""
        return self.directory / f"failing-{number}"

    def make_broker(self, number: int, settings: dict[str, str]) -> OttlaBroker:
        return FailingBroker(
            self.flag(number), self.data_dir(number), settings, self.log_file(number)
        )


class FailingBroker(OttlaBroker):
    """A broker whose disk somebody can let fail."""

    def __init__(
        self, flag: Path, data_dir: Path, settings: dict[str, str], log_file: Path
    ) -> None:
        super().__init__(data_dir, settings, log_file)
        self.flag = flag

    def command(self, port: int) -> list[str]:
        _, *arguments = super().command(port)
        return [sys.executable, "-m", "tests.faults.failing", str(self.flag), *arguments]


@dataclass(slots=True)
class FailingDisk(Fault):
    """The only disk of a broker ends with EIO: the broker must give up what it leads, and end."""

    choose: Choose = Scene.leader
    victim: int = field(default=0, init=False)

    SITE: ClassVar[type[Site]] = FailingDiskSite

    def strike(self, scene: Scene) -> None:
        site = scene.site
        assert isinstance(site, FailingDiskSite)
        self.victim = self.choose(scene)
        site.flag(self.victim).touch()

    def mend(self, scene: Scene) -> None:
        site, broker = scene.site, scene.broker(self.victim)
        assert isinstance(site, FailingDiskSite)
        wait_for(lambda: not broker.running, "a broker without a disk to end", ENDS_WITHIN_S)
        site.flag(self.victim).unlink()
        broker.start()


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
    FailingDisk("failing-disk-of-leader", lasts_s=4),
    FailingDisk("failing-disk-of-controller", lasts_s=4, choose=Scene.controller),
    PowerCut("power-cut-of-leader", within_s=SOON_S),
    PowerCut("power-cut-of-two", within_s=None, choose=(1, 2)),
    PowerCut("power-cut-of-all", within_s=None, choose=BROKERS),
)
