"""What a person waits for: a command of the console, from the start of its process to its end."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import Scale, Scenario
from benchmarks.statistics import median
from tools.apache_kafka import java_command

GROUP = "commands"
TIMES = 20
TIMES_QUICK = 3
# What Kafka's scripts give the tools.
HEAP = ("-Xmx256M",)
OTTLA = Path(sys.executable).with_name("kafka-topics")
KAFKA = "org.apache.kafka.tools.TopicCommand"


class ListTopics(Scenario):
    """`kafka-topics --list` of each contestant, asking the contestant's own broker."""

    max_runs = 3

    def __init__(self, name: str) -> None:
        goal = Goal(times_at_most=0.25, at_most=150.0)
        row = Row(name, "kafka-topics --list", "ms", GROUP, higher_is_better=False, goal=goal)
        super().__init__(name, (row,))

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """The median of many."""
        words = ["--bootstrap-server", broker.bootstrap, "--list"]
        command = [str(OTTLA), *words]
        if broker.name == "kafka":
            command = java_command(HEAP, KAFKA, words)
        times = TIMES_QUICK if scale.quick else TIMES
        return Measured({self.name: median([_milliseconds(command) for _ in range(times)])})


def _milliseconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return (time.perf_counter() - began) * 1e3
