"""What every scenario has: rows to fill, and a way to measure one run of one broker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row

QUICK_DIVISOR = 10
CPU_GROUP = "broker CPU"
CORES = "a broker for each core"
CPU_GOAL = Goal(times_at_most=0.25)


class Part(Enum):
    """The parts of the comparison, which can be run one by one; each has its own contestants."""

    SINGLE = "single"
    CORES = "cores"
    CLUSTER = "cluster"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much work a run does: all of it, or a tenth for a quick look."""

    quick: bool = False

    def amount(self, full: int) -> int:
        """A number of records, connections or bytes at this scale."""
        return max(full // QUICK_DIVISOR, 1) if self.quick else full

    def seconds(self, full: float) -> float:
        """A duration at this scale."""
        return max(full / 3, 1.0) if self.quick else full


class Scenario(ABC):
    """One kind of load; `prepare` and `clean_up` surround all its runs on one broker."""

    part = Part.SINGLE
    """One broker, one for each core, or a cluster."""
    warming_runs = 1
    """How many runs that do not count go before those that do."""
    runs_for_one = 1
    """How many runs short ones do where others do one: one of milliseconds meets whatever else the machine does."""
    max_runs: int | None = None
    """A cap for scenarios too long to repeat as often as the others."""
    fresh_broker = False
    """Whether each run needs a broker of its own instead of the one that serves all scenarios."""

    def __init__(self, name: str, rows: tuple[Row, ...]) -> None:
        self.name = name
        self.rows = rows

    def prepare(self, broker: Contestant, scale: Scale) -> None:  # noqa: B027  most need nothing
        """Makes what all runs on this broker share."""

    @abstractmethod
    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Does one run."""

    def clean_up(self, broker: Contestant) -> None:  # noqa: B027  most need nothing
        """Removes what `prepare` made."""


def cpu_row(name: str, title: str, group: str = CPU_GROUP, what: str = "records") -> Row:
    """A row for the CPU time the broker spent on a throughput row."""
    unit, goal = f"CPU-s per M {what}", CPU_GOAL if group == CPU_GROUP else None
    return Row(f"{name}-cpu", title, unit, group, higher_is_better=False, goal=goal)


class CpuUse:
    """CPU seconds a broker used within a context."""

    seconds = 0.0


@contextmanager
def broker_cpu(broker: Contestant) -> Iterator[CpuUse]:
    """Measures the broker's CPU time, the client's excluded."""
    use = CpuUse()
    before = broker.cpu_seconds()
    yield use
    use.seconds = broker.cpu_seconds() - before
