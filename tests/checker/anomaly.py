"""Pure: one thing that is wrong, or worth a line."""

from __future__ import annotations

from typing import NamedTuple


class Anomaly(NamedTuple):
    """What was found; `fails` says whether a promise was broken by it."""

    name: str
    message: str
    fails: bool = True
