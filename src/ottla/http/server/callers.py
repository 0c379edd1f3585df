"""Pure: who calls: the identity that every request to a cluster is made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Caller:
    """Whoever sent a request: the login that the cluster asks for, and where the request came from.

    Without a login it is the service itself that acts, with the settings of its cluster.
    """

    address: str
    name: str | None = None
    login: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)
    """Tells identities apart: clients of one are never used for another."""

    def __str__(self) -> str:
        return f"{self.name or 'anonymous'}@{self.address}"
