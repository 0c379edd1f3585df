"""Clocks that jump, forwards and backwards, once or all the time; on one broker of three."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from tests.faults.fault import SOON_S, Choose, Fault
from tests.faults.mistimed import set_clock
from tests.faults.scene import Scene
from tests.faults.site import Site
from tests.support.broker import OttlaBroker

JUMP_S: Final = 300
STROBES: Final = 20


class ClockSite(Site):
    """Each broker has a wall clock of its own, told by a file; the clock that only counts is left alone."""

    def clock(self, number: int) -> Path:
        """The file that tells a broker's clock how far it is off."""
        return self.directory / f"clock-{number}"

    def set_clock(self, number: int, seconds: float) -> None:
        """Let a broker's clock be wrong by so much, from now on."""
        set_clock(self.clock(number), seconds)

    def make_broker(self, number: int, settings: dict[str, str]) -> OttlaBroker:
        self.set_clock(number, 0)
        return MistimedBroker(
            self.clock(number), self.data_dir(number), settings, self.log_file(number)
        )


class MistimedBroker(OttlaBroker):
    """A broker whose clock somebody else sets."""

    def __init__(
        self, clock: Path, data_dir: Path, settings: dict[str, str], log_file: Path
    ) -> None:
        super().__init__(data_dir, settings, log_file)
        self.clock = clock

    def command(self, port: int) -> list[str]:
        _, *arguments = super().command(port)
        return [sys.executable, "-m", "tests.faults.mistimed", str(self.clock), *arguments]


@dataclass(slots=True)
class ClockJump(Fault):
    """The clock of one broker jumps, and later jumps back."""

    seconds: float = JUMP_S
    strobes: int = 1
    choose: Choose = Scene.leader
    victim: int = field(default=0, init=False)

    SITE: ClassVar[type[Site]] = ClockSite

    def strike(self, scene: Scene) -> None:
        self.victim = self.choose(scene)
        self.set_clock(scene, self.seconds)

    def while_it_lasts(self, scene: Scene) -> None:
        for number in range(1, self.strobes + 1):
            scene.hold(self.lasts_s / self.strobes)
            self.set_clock(scene, self.seconds * (number % 2 == 0))

    def mend(self, scene: Scene) -> None:
        self.set_clock(scene, 0)

    def set_clock(self, scene: Scene, seconds: float) -> None:
        """On the machine of the victim."""
        assert isinstance(scene.site, ClockSite)
        scene.site.set_clock(self.victim, seconds)


CLOCKS = (
    ClockJump("clock-of-leader-forwards", lasts_s=4, within_s=SOON_S),
    ClockJump("clock-of-leader-backwards", lasts_s=4, within_s=SOON_S, seconds=-JUMP_S),
    ClockJump("clock-of-controller-forwards", lasts_s=4, within_s=SOON_S, choose=Scene.controller),
    ClockJump(
        "clock-of-coordinator-forwards",
        lasts_s=4,
        within_s=SOON_S,
        choose=Scene.transaction_coordinator,
    ),
    ClockJump("clock-of-leader-strobes", lasts_s=6, within_s=SOON_S, strobes=STROBES),
)
