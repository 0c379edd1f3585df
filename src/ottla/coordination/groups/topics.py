"""Pure: the topics of the cluster as the group coordinator sees them: the newest image, before others act on it."""

from __future__ import annotations

from ottla.cluster.image import Delta, Image


class Topics:
    """Holds the newest image; all machines of the coordinator share one."""

    __slots__ = ("image",)

    def __init__(self, image: Image | None = None) -> None:
        self.image = Image() if image is None else image

    def apply(self, image: Image, delta: Delta) -> None:
        """Take over a new image; subscribe it before those who ask."""
        self.image = image
