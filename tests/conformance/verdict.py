"""Pure: compares how librdkafka's tests ended with how they end on Apache Kafka."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

PASSED = "PASSED"
NOT_RUN = "NOT RUN"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the tests that pass on Apache Kafka ended here: at once, when run again alone, or not."""

    passed: tuple[str, ...]
    passed_alone: tuple[str, ...]
    missed: tuple[tuple[str, str], ...]

    @property
    def conforms(self) -> bool:
        """Whether every one of them passed."""
        return not self.missed

    def lines(self) -> list[str]:
        """The verdict for people; a test that passed only alone is named."""
        good, all_of_them = len(self.passed) + len(self.passed_alone), self._count()
        lines = [f"{good} of the {all_of_them} tests that pass on Apache Kafka 4.3.0 pass here"]
        lines += [f"  passed only when run again, alone: {name}" for name in self.passed_alone]
        lines += [f"  {state.lower()}: {name}" for name, state in self.missed]
        return lines

    def _count(self) -> int:
        return len(self.passed) + len(self.passed_alone) + len(self.missed)


def judge(
    expected: Collection[str], states: Mapping[str, str], alone: Mapping[str, str]
) -> Verdict:
    """The verdict on a run, and on the tests that were run again alone because they had not passed."""
    missed = [name for name in expected if states.get(name) != PASSED]
    passed_alone = [name for name in missed if alone.get(name) == PASSED]
    return Verdict(
        passed=tuple(name for name in expected if states.get(name) == PASSED),
        passed_alone=tuple(passed_alone),
        missed=tuple((n, states.get(n, NOT_RUN)) for n in missed if n not in passed_alone),
    )


def chosen(expected: Collection[str], numbers: Collection[str]) -> list[str]:
    """The tests with these numbers (`0118`); with no number, all."""
    return [name for name in expected if not numbers or number(name) in numbers]


def number(name: str) -> str:
    """What the runner calls a test by: the digits before its name."""
    return name.partition("_")[0]
