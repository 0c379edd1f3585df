"""Pure: what the clients of a run were promised, which decides what is an anomaly and what is only worth a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Two sets of logs, one of which a pipeline copies into the other, each record once and in the order of its key."""

    name: str
    inputs: frozenset[str]
    outputs: frozenset[str]
    original: Callable[[str], str]
    """The value in the input that a value in the output was made of."""
    record_key: Callable[[str], str]
    """What of a value in the input says among which others of its log it stands in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Logs into which transactions write amounts that cancel out.

    A read_committed reader at the end of one log sees whole transactions: a ledger of one log may be read at any time.
    Of several logs the ends are not taken at one moment: such a ledger is read when nobody writes.
    """

    name: str
    keys: frozenset[str]
    amount: Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Compacted logs: the newest record of each key has to stay, and no other check looks at them."""

    keys: frozenset[str]
    record_key: Callable[[str], str]
    """What of a value says which older ones it replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """The promises of a run."""

    idempotent: bool = True
    acks_all: bool = True
    max_lag_ms: float | None = None
    lag_counts_from_ms: float = 0.0
    """When the last fault had been repaired."""
    copies: tuple[Copy, ...] = ()
    ledgers: tuple[Ledger, ...] = ()
    compactions: tuple[Compaction, ...] = ()

    @property
    def compacted(self) -> frozenset[str]:
        """The logs whose records may go."""
        return frozenset().union(*(each.keys for each in self.compactions))
