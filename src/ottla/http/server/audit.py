"""The audit: one line for each request that changed something, kept for a page and written to the log."""

from __future__ import annotations

import time
from collections import deque
from typing import Final, NamedTuple

from ottla.base.log import logger

log = logger(__name__)
KEPT: Final = 1000


class AuditLine(NamedTuple):
    """Who did what, and whether it was done."""

    time_ms: int
    who: str
    method: str
    path: str
    status: int


class Audit:
    """The newest lines; the log has all of them."""

    def __init__(self) -> None:
        self.lines: deque[AuditLine] = deque(maxlen=KEPT)

    def add(self, who: str, method: str, path: str, status: int) -> None:
        """Note a request that changed something, or was refused."""
        line = AuditLine(round(time.time() * 1000), who, method, path[:500], status)
        self.lines.append(line)
        log.info("audit", who=who, method=method, path=line.path, status=status)
