"""Files that are damaged while their broker is down, after a crash or after a clean stop; on one broker of three."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.fault import Choose, Fault
from tests.faults.remains import read_segment
from tests.faults.scene import Scene

Harm = Callable[[Path, Random], None]
"""What is done to the newest segment of a log."""

LOST_BYTES = 500
TORN = b"\x00\x01half a batch"


def torn_tail(segment: Path, chance: Random) -> None:
    """The last write did not end: half of the last batch is there, or rubbish behind it."""
    size = segment.stat().st_size
    if chance.random() < 0.5:
        with segment.open("ab") as file:
            file.write(TORN * chance.randrange(1, 50))
    else:
        cut(segment, max(0, size - chance.randrange(1, 60)))


def lost_tail(segment: Path, chance: Random) -> None:
    """The end of the file is gone, whole batches of it."""
    cut(segment, max(0, segment.stat().st_size - chance.randrange(LOST_BYTES, 10 * LOST_BYTES)))


def flipped_bit(segment: Path, chance: Random) -> None:
    """One bit, in one of the last batches."""
    data = bytearray(segment.read_bytes())
    if list(read_segment(bytes(data))):
        position = len(data) - chance.randrange(1, min(len(data), LOST_BYTES))
        data[position] ^= 1 << chance.randrange(8)
        segment.write_bytes(data)


def cut(segment: Path, size_bytes: int) -> None:
    """Shorten a file."""
    with segment.open("r+b") as file:
        file.truncate(size_bytes)


def newest_segments(data_dir: Path) -> Iterator[Path]:
    """The segment that is written to, of each log of a broker."""
    for directory in sorted(data_dir.iterdir()):
        segments = sorted(directory.glob("*.log")) if directory.is_dir() else []
        if segments:
            yield segments[-1]


@dataclass(slots=True)
class Damage(Fault):
    """A broker goes down, its files are harmed, and it comes back."""

    harm: Harm = torn_tail
    cleanly: bool = False
    choose: Choose = Scene.leader
    victim: int = field(default=0, init=False)

    def strike(self, scene: Scene) -> None:
        self.victim = self.choose(scene)
        broker = scene.broker(self.victim)
        if self.cleanly:
            assert broker.stop() == 0
        else:
            broker.kill()
        for segment in newest_segments(broker.data_dir):
            self.harm(segment, scene.chance)

    def mend(self, scene: Scene) -> None:
        scene.broker(self.victim).start()


DAMAGES = (
    Damage("torn-tail", harm=torn_tail),
    Damage("lost-tail", harm=lost_tail),
    Damage("flipped-bit", harm=flipped_bit),
    Damage("torn-tail-after-clean-stop", harm=torn_tail, cleanly=True),
    Damage("lost-tail-after-clean-stop", harm=lost_tail, cleanly=True),
    Damage("flipped-bit-after-clean-stop", harm=flipped_bit, cleanly=True),
)
