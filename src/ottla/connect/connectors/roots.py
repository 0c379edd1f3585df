"""Which files connectors may touch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ottla.connect.errors import ConnectError


class OutsideRoots(ConnectError):
    """A path that no connector may touch."""


def inside(path: str, roots: Sequence[str]) -> Path:
    """Return a path, links resolved, if it lies under one of the roots; relative paths begin at the first root."""
    found = (Path(roots[0]) / path).resolve()
    if not any(found.is_relative_to(Path(root).resolve()) for root in roots):
        raise OutsideRoots(
            f"{path} is outside of the directories that connectors may touch; name its directory in file.roots of the"
            " worker's properties"
        )
    return found
