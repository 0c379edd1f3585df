"""Outages of a whole site: everybody is killed at once, disks come to harm, and all return in some order.

One disk is always intact: what was acknowledged is on it. Within the session the registrations of the dead still stand
when the first one is back; beyond it nobody is registered.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.damages import lost_tail, newest_segments, torn_tail
from tests.faults.fault import Fault
from tests.faults.scene import Scene
from tests.faults.site import BROKERS, SESSION_S

Harm = Callable[[Path, Path, Random], None]
"""What is done to the data directory of a broker that is down; the second is an older copy of it."""


def wiped(data_dir: Path, older: Path, chance: Random) -> None:
    """The disk was replaced by an empty one."""
    shutil.rmtree(data_dir)
    data_dir.mkdir()


def torn(data_dir: Path, older: Path, chance: Random) -> None:
    """What was written last never reached the disk, of every log."""
    for segment in newest_segments(data_dir):
        chance.choice((torn_tail, lost_tail))(segment, chance)


def restored(data_dir: Path, older: Path, chance: Random) -> None:
    """Somebody has put back a copy that was made before."""
    shutil.rmtree(data_dir)
    shutil.copytree(older, data_dir)


@dataclass(slots=True)
class Outage(Fault):
    """All are killed; some disks are harmed; all return, those with harmed disks first or last."""

    harm: Harm = wiped
    harmed: int = 1
    is_beyond_session: bool = False
    harmed_first: bool = True
    copies: Path = field(default=Path(), init=False)
    victims: tuple[int, ...] = field(default=(), init=False)

    def strike(self, scene: Scene) -> None:
        self.victims = tuple(scene.chance.sample(BROKERS, self.harmed))
        self.copies = scene.site.directory / "copies"
        shutil.rmtree(self.copies, ignore_errors=True)
        if self.harm is restored:
            for number in self.victims:
                with suppress(shutil.Error):  # files that were removed meanwhile
                    shutil.copytree(scene.site.data_dir(number), self.copies / str(number))
            scene.hold(1.0)
        for number in BROKERS:
            os.kill(scene.broker(number).pid, signal.SIGKILL)
        for number in BROKERS:
            scene.broker(number).kill()
        for number in self.victims:
            self.harm(scene.site.data_dir(number), self.copies / str(number), scene.chance)

    def while_it_lasts(self, scene: Scene) -> None:
        if self.is_beyond_session:
            time.sleep(SESSION_S + 2)

    def mend(self, scene: Scene) -> None:
        for number in self.order(scene.chance):
            scene.broker(number).start()

    def order(self, chance: Random) -> Iterator[int]:
        """Who returns when."""
        intact = [each for each in BROKERS if each not in self.victims]
        chance.shuffle(intact)
        if self.harmed_first:
            yield from (*self.victims, *intact)
        else:
            yield from (*intact, *self.victims)


def _outages() -> Iterator[Outage]:
    """Twenty-four: each harm, to one disk and to two, within the session and beyond it, harmed ones first and last."""
    for harm, harmed, beyond, first in product(
        (wiped, torn, restored), (1, 2), (False, True), (True, False)
    ):
        words = (
            "outage",
            "beyond-session" if beyond else "within-session",
            "two" if harmed == 2 else "one",
            harm.__name__,
            "first" if first else "last",
        )
        yield Outage(
            "-".join(words),
            lasts_s=0,
            within_s=None,
            harm=harm,
            harmed=harmed,
            is_beyond_session=beyond,
            harmed_first=first,
        )


OUTAGES: Final = tuple(_outages())
