"""Pure: the setting that names the directories file connectors may touch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.connect.options.table import Importance, Kind, Option

ROOTS = Option(
    name="file.roots",
    kind=Kind.LIST,
    default=["."],
    importance=Importance.LOW,
    doc="Directories that file connectors may touch; the worker sets it, and a connector's own value does not count.",
)


def roots_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the directories."""
    return settings["file.roots"] or ["."]
