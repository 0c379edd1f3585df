"""The compaction-gap-checkpoint file of one log: below which offset compaction may have removed whole batches.

In a log that was never compacted each batch begins where the one before ends, and anything else is damage: a sealed
segment that lost its tail shows in nothing else. Whether compaction ever ran is a fact about the files. Today's
cleanup.policy does not tell it: it may have been another one before, and a follower gets the gaps of its leader
whatever its own policy is. So the fact is on disk before the first gap is.
"""

import threading

from ottla.base.log import logger
from ottla.base.units import LONG_MAX
from ottla.storage import fs

log = logger(__name__)

GAPS_FILE = "compaction-gap-checkpoint"
# A follower of a compacted log meets gaps in nearly every fetch: one sync in so many offsets is enough.
_AHEAD = 1_000_000


class Gaps:
    """Where a log may lack offsets: anywhere below `below`, nowhere from there on."""

    __slots__ = ("_directory", "_writing", "below")

    def __init__(self, directory: str, below: int) -> None:
        self._directory = directory
        self.below = below
        # Compaction writes from a thread, replication from the loop.
        self._writing = threading.Lock()

    @classmethod
    def read(cls, directory: str) -> "Gaps":
        """The gaps of a log on disk; without a file that reads well they may be anywhere."""
        content = fs.read_file(f"{directory}/{GAPS_FILE}")
        try:
            version, offset, _ = (content or b"").decode("ascii").split("\n")
            if int(version) != 0:
                raise ValueError(f"unknown version {version}")
            return cls(directory, int(offset))
        except ValueError:
            if content:
                log.warning("compaction gaps unreadable, any gap is accepted", directory=directory)
            return cls(directory, LONG_MAX)

    @property
    def is_known(self) -> bool:
        """False for a log that an older build, or Kafka, wrote."""
        return self.below != LONG_MAX

    def begin(self, offset: int) -> None:
        """Say that there are no gaps from an offset on.

        Unsynced: a log without the file counts as having gaps.
        """
        self._write(offset, sync=False)

    def allow_below(self, offset: int) -> None:
        """Make it durable that there may be gaps below an offset; to be called before there are."""
        if offset > self.below:
            with self._writing:
                if offset > self.below:
                    self._write(offset, sync=True)

    def allow_at(self, offset: int) -> None:
        """Make it durable that a gap ends at this offset of a leader's log, and that more are likely to follow."""
        if offset > self.below:
            self.allow_below(offset + _AHEAD)

    def are_violated(self, expected_offset: int, offset: int) -> bool:
        """Return whether a batch at an offset, where another was expected, shows that something was lost."""
        return offset > expected_offset and offset > self.below

    def _write(self, offset: int, *, sync: bool) -> None:
        fs.write_atomic(f"{self._directory}/{GAPS_FILE}", f"0\n{offset}\n".encode(), sync=sync)
        self.below = offset
