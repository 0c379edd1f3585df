"""The sealed segments of one log that are not on the disk for sure, and how much recovery would have to scan."""

from ottla.storage.segment import Segment


class Unsynced:
    """What no flush, and what no checkpoint, has synced; a checkpoint covers indexes, too."""

    __slots__ = ("_checked", "by_checkpoint", "by_flush")

    def __init__(self, segments: list[Segment], checked: tuple[Segment, int]) -> None:
        self.by_flush = list(segments)
        self.by_checkpoint = list(segments)
        # The segment in which the last checkpoint ended, and where.
        self._checked = checked

    def seal(self, segment: Segment) -> None:
        """A segment is sealed; part of it may be on the disk."""
        self.by_flush.append(segment)
        self.by_checkpoint.append(segment)

    def bytes_behind_checkpoint(self, active: Segment) -> int:
        """How many bytes came after the last checkpoint."""
        written = sum(segment.size_bytes for segment in self.by_checkpoint) + active.size_bytes
        segment, position = self._checked
        return written - (position if segment is active or segment in self.by_checkpoint else 0)

    def flushed(self, sealed: list[Segment]) -> None:
        """A flush has ended that covered these."""
        self.by_flush = [each for each in self.by_flush if each not in sealed]

    def checkpointed(self, sealed: list[Segment], active: tuple[Segment, int]) -> None:
        """A checkpoint has ended that covered these, and the active segment up to a position."""
        self.by_checkpoint = [each for each in self.by_checkpoint if each not in sealed]
        self._checked = active

    def forget(self, gone: list[Segment]) -> None:
        """These are not the log's any more."""
        self.by_flush = [each for each in self.by_flush if each not in gone]
        self.by_checkpoint = [each for each in self.by_checkpoint if each not in gone]

    def truncated(self, kept: list[Segment], active: Segment) -> None:
        """Only these sealed segments are left, and the active one is another, or shorter."""
        self.by_flush = [each for each in self.by_flush if each in kept]
        self.by_checkpoint = [each for each in self.by_checkpoint if each in kept]
        self._checked = (active, 0)
