"""Pure: which leader epoch began at which offset, and the leader-epoch-checkpoint file.

Both columns ascend. The file is Kafka's: a version (0), a count, then "epoch offset" lines.
"""

from bisect import bisect_right

from ottla.base.errors import CorruptLog

UNDEFINED = (-1, -1)


class LeaderEpochs:
    """The leader epochs of one partition."""

    __slots__ = ("_epochs", "_starts", "changed", "latest")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = -1
        # Whether the file lacks something; whoever writes it resets this.
        self.changed = False

    def entries(self) -> list[tuple[int, int]]:
        """Every (epoch, start offset)."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> None:
        """Let an epoch begin at an offset; one that is not new changes nothing."""
        if epoch <= self.latest:
            return
        # An epoch that wrote nothing is replaced by the one that begins where it would have.
        while self._starts and self._starts[-1] >= start_offset:
            self._pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch
        self.changed = True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The greatest epoch at or below the one asked for, and where it ends (KIP-101, KIP-279)."""
        if epoch < 0 or not self._epochs or epoch > self.latest:
            return UNDEFINED
        if epoch == self.latest:
            return epoch, log_end_offset
        following = bisect_right(self._epochs, epoch)
        if following == 0:
            return epoch, self._starts[0]
        return self._epochs[following - 1], self._starts[following]

    def epoch_of(self, offset: int) -> int:
        """The epoch in which an offset was written, or -1."""
        slot = bisect_right(self._starts, offset)
        return self._epochs[slot - 1] if slot else -1

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop the epochs that begin at or behind the log's end."""
        while self._starts and self._starts[-1] >= end_offset:
            self._pop()

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop the epochs that end at or before the log's start; the one across it starts there."""
        slot = bisect_right(self._starts, start_offset) - 1
        if slot < 0 or (slot == 0 and self._starts[0] == start_offset):
            return
        del self._epochs[:slot]
        del self._starts[:slot]
        self._starts[0] = start_offset
        self.changed = True

    def clear(self) -> None:
        """Forget every epoch."""
        while self._epochs:
            self._pop()

    def encode(self) -> bytes:
        """The content of the leader-epoch-checkpoint file."""
        lines = [f"{epoch} {start}" for epoch, start in self.entries()]
        return "\n".join(("0", str(len(lines)), *lines, "")).encode()

    @classmethod
    def decode(cls, data: bytes) -> "LeaderEpochs":
        """Read the content of a leader-epoch-checkpoint file."""
        epochs = cls()
        try:
            version, count, *lines = data.decode("ascii").split("\n")
            if int(version) != 0:
                raise ValueError(f"unknown version {version}")
            for line in lines[: int(count)]:
                epoch, start = line.split()
                epochs.assign(int(epoch), int(start))
        except ValueError as error:
            raise CorruptLog(f"leader-epoch-checkpoint: {error}") from error
        epochs.changed = False
        return epochs

    def _pop(self) -> None:
        self._epochs.pop()
        self._starts.pop()
        self.latest = self._epochs[-1] if self._epochs else -1
        self.changed = True
