"""Start-up time and memory of a broker that has just been started."""

from __future__ import annotations

import subprocess
import time

from benchmarks.clients import finish_client, running_client
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import Scale, Scenario
from benchmarks.topics import temporary_topic

CONNECTIONS = 2000
SETTLE_SECONDS = 1.0


def _row(name: str, title: str, unit: str, goal: Goal) -> Row:
    return Row(name, title, unit, "footprint", higher_is_better=False, goal=goal)


AFTER_THE_RUN = _row("memory-after", "memory after all runs", "MB", Goal(times_at_most=0.1))


class FreshBroker(Scenario):
    """Start, sit idle, take 2,000 connections, take 1 MB from each."""

    fresh_broker = True

    def __init__(self, name: str) -> None:
        connected = f"memory added by {CONNECTIONS:,} connections"
        rows = (
            _row("start-up", "start-up to first answer", "s", Goal(None, 0.1, 0.5)),
            _row("memory-idle", "memory, idle", "MB", Goal(at_most=80.0)),
            _row("memory-connections", connected, "MB", Goal(at_most=100.0)),
            _row("memory-1mb-each", f"{connected}, 1 MB sent on each", "MB", Goal(at_most=100.0)),
        )
        super().__init__(name, rows)

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Reads the memory of the broker at each stage."""
        time.sleep(SETTLE_SECONDS)
        idle_mb = broker.memory_mb()
        with temporary_topic(broker.bootstrap) as topic:
            spec = {"bootstrap": broker.bootstrap, "topic": topic, "connections": CONNECTIONS}
            with running_client("crowd", spec) as crowd:
                open_mb = _memory_at(crowd, "open", broker)
                sent_mb = _memory_at(crowd, "sent", broker)
                finish_client(crowd)
        start_up, idle, opened, sent = (row.name for row in self.rows)
        return Measured(
            {
                start_up: broker.startup_seconds,
                idle: idle_mb,
                opened: open_mb - idle_mb,
                sent: sent_mb - idle_mb,
            }
        )


def _memory_at(crowd: subprocess.Popen[str], stage: str, broker: Contestant) -> float:
    """Waits for the crowd to reach a stage, reads the memory, and lets the crowd go on."""
    assert crowd.stdout is not None
    assert crowd.stdin is not None
    reached = crowd.stdout.readline().strip()
    if reached != stage:
        finish_client(crowd)  # raises with what the client said
        raise RuntimeError(f"the crowd said {reached!r} instead of {stage!r}")
    memory_mb = broker.memory_mb()
    crowd.stdin.write("\n")
    crowd.stdin.flush()
    return memory_mb
