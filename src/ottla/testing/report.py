"""What a broker saw during a test, as a section of that test's report."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ottla.testing.broker import Broker
from ottla.testing.process import BrokerFailed
from ottla.testing.sightings import Sighting


class Watched:
    """A broker that tests share, and where its log stood when the test began."""

    def __init__(self, broker: Broker, fixture: str) -> None:
        self.broker = broker
        self.fixture = fixture
        # It was started for the test that runs now, which is told how that went.
        self._log_position = 0
        self._since_ms = _now_ms()

    def mark(self) -> None:
        """A test begins."""
        self._log_position = len(self.broker.log)
        self._since_ms = _now_ms()

    @property
    def title(self) -> str:
        """The heading of its section."""
        return f"ottla broker on {self.broker.bootstrap_servers}"

    def text(self) -> str:
        """What it logged and which requests it saw since the test began."""
        logged = self.broker.log[self._log_position :].rstrip()
        return "\n".join([logged or "(nothing was logged)", *self._requests()])

    def _requests(self) -> Iterator[str]:
        try:
            seen = self.broker.sightings(self._since_ms)
        except BrokerFailed:
            yield "(the broker does not run: nobody can say what it was asked)"
            return
        if seen:
            yield "requests, in milliseconds since the test began:"
            yield from (_line(each, self._since_ms) for each in seen)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _line(seen: Sighting, since_ms: int) -> str:
    times = f" x {seen.times}" if seen.times > 1 else ""
    outcome = f" -> {seen.outcome}" if seen.outcome else ""
    when, who = seen.at_ms - since_ms, seen.client_id or "-"
    return f"{when:8d}  {who:<24} {seen.api} v{seen.version}{times}{outcome}"
