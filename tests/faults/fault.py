"""What a fault is: it strikes, lasts for a while under load, and is put right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tests.faults.scene import Scene
from tests.faults.site import SESSION_S, Site

Choose = Callable[[Scene], int]
"""Picks the broker that a fault strikes."""

SOON_S = 6.0
"""A death is noticed at once; the rest is room for a machine that has other things to do."""
AFTER_SESSION_S = SESSION_S + 9.0
"""Silence is noticed when the session ends; clients give up the one who is silent in the same time."""
MENDED_S = 25.0
"""From when all is put right."""


@dataclass(slots=True)
class Fault:
    """One kind of fault; an instance strikes again and again, but not before it was put right."""

    name: str
    lasts_s: float = 2.0
    within_s: float | None = SOON_S
    """How soon every log must take writes again while it lasts; None if none need."""

    SITE: ClassVar[type[Site]] = Site

    def strike(self, scene: Scene) -> None:
        """Break something."""
        raise NotImplementedError

    def mend(self, scene: Scene) -> None:
        """Put it right."""

    def while_it_lasts(self, scene: Scene) -> None:
        """Let the clients work meanwhile."""
        scene.hold(self.lasts_s)
