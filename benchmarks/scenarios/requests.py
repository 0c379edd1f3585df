"""How many requests of one record each a broker answers, by number of connections."""

from __future__ import annotations

from benchmarks.clients import run_client
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import (
    CORES,
    CPU_GROUP,
    Part,
    Scale,
    Scenario,
    broker_cpu,
    cpu_row,
)
from benchmarks.topics import leaders, temporary_topic

SECONDS = 3.0
VALUE_SIZE = 100
GOAL_CONNECTIONS = 50
GOAL = Goal(times_at_least=1.2)


class OneRecordRequests(Scenario):
    """Connections that each wait for an answer before the next request."""

    def __init__(self, name: str, connections: int, part: Part = Part.SINGLE) -> None:
        title = f"one-record requests, {connections} connection{'s' if connections > 1 else ''}"
        promised = connections == GOAL_CONNECTIONS
        group, goal = ("throughput", GOAL) if promised else ("growth", None)
        speed = Row(name, title, "k req/s", CORES if part is Part.CORES else group, goal=goal)
        rows = (speed, cpu_row(name, title, CORES if part is Part.CORES else CPU_GROUP))
        super().__init__(name, rows)
        self.connections = connections
        self.part = part

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Counts answers for some seconds; each broker leads one partition."""
        partitions = len(broker.pids)
        with temporary_topic(broker.bootstrap, partitions) as topic:
            spec = {
                "leaders": list(leaders(broker.bootstrap, topic, partitions).values()),
                "topic": topic,
                "connections": self.connections,
                "value_size": VALUE_SIZE,
                "seconds": scale.seconds(SECONDS),
            }
            with broker_cpu(broker) as cpu:
                result = run_client("requests", spec)
        speed, cost = self.rows
        values = {
            speed.name: result["records"] / result["seconds"] / 1e3,
            cost.name: cpu.seconds / result["records"] * 1e6,
        }
        return Measured(values, {speed.name: result["busy"]})
