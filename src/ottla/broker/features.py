"""THE table of features (KIP-584): what this broker can do, and at which level the cluster does it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Feature(NamedTuple):
    """One feature: the levels supported, and the level in force."""

    name: str
    min_version: int
    max_version: int
    finalized: int


FEATURES: Final[tuple[Feature, ...]] = (
    # KIP-848: groups whose partitions the coordinator assigns.
    Feature("group.version", 0, 1, finalized=1),
    # KIP-890: clients add partitions by writing to them, and get a new epoch with every end of a transaction.
    Feature("transaction.version", 0, 2, finalized=2),
)
"""In the order of their names."""

FINALIZED_EPOCH: Final = 1
"""Clients believe the features of the highest epoch they have seen; these never change."""
