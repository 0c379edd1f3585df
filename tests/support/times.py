"""Where the time of a run goes: the CPU and the clock by directory, the slowest tests, and what tests had to say.

The CPU of a test is what its process and all processes below it have used meanwhile, ended or not: a broker that lives
for the session is charged to the tests that keep it busy. Budgets are those of CONTRIBUTING.md.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.side_by_side import group

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WORTH_A_LOOK_S = 0.1
"""Processes below are looked for behind tests that took longer: to look after each of thousands costs a minute."""
SLOWEST = 10
LONGEST_GROUPS = 3


class Spent(NamedTuple):
    """What one test took."""

    nodeid: str
    cpu_s: float
    wall_s: float


def cpu_of(pid: int) -> float:
    """The CPU that a process and the children it has waited for have used; 0 if there is none any more."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS_PER_S


def below(pid: int) -> Iterator[int]:
    """The processes that this one has started, and those that they have."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from below(child)


def own_cpu_s() -> float:
    """The CPU of this process and of the children it has waited for."""
    return sum(os.times()[:4])


class Clock:
    """What is used between two looks."""

    def __init__(self) -> None:
        self._alive_s = 0.0
        self._before_s = own_cpu_s()

    def lap(self, look_below: bool) -> float:
        """The CPU since the last lap. Processes below that nobody looked for are charged to a later one."""
        if look_below:
            self._alive_s = sum(map(cpu_of, below(os.getpid())))
        now_s = own_cpu_s() + self._alive_s
        used_s, self._before_s = now_s - self._before_s, now_s
        return max(0.0, used_s)


class Times:
    """Measures in the processes that run tests, and reports in the one that prints."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.began_s = time.monotonic()
        self.collecting_s = 0.0
        self.spent: list[Spent] = []
        self.said: list[str] = []
        self.workers_s = 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self.collecting_s = self.clock.lap(look_below=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self.began_s = time.monotonic()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        if call.when == "teardown":
            wall_s = time.monotonic() - self.began_s
            used_s = self.clock.lap(look_below=wall_s > WORTH_A_LOOK_S)
            item.user_properties.append(("spent", [used_s, wall_s]))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == "spent":
                self.spent.append(Spent(report.nodeid, *value))
            elif name == "said":
                self.said.append(str(value))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["collecting_s"] = self.collecting_s

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.workers_s += getattr(node, "workeroutput", {}).get("collecting_s", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.spent) <= 1:
            return
        here_s = time.process_time() if self.workers_s else self.collecting_s
        terminalreporter.section("time")
        for line in page(self.spent, self.workers_s + here_s, self.said, budgets(CONTRIBUTING)):
            terminalreporter.write_line(line)


def page(
    spent: list[Spent], around_s: float, said: list[str], budget_s: dict[str, int]
) -> Iterator[str]:
    """What is printed at the end: plain lines."""
    tests, cpu_s, wall_s, group_s = Counter(), Counter(), Counter(), Counter()
    for each in spent:
        directory = directory_of(each.nodeid)
        tests[directory] += 1
        cpu_s[directory] += each.cpu_s
        wall_s[directory] += each.wall_s
        group_s[group(each.nodeid)] += each.wall_s
    yield f"{'CPU s':>8} {'budget':>7} {'clock s':>8} {'tests':>6}"
    for directory, used_s in cpu_s.most_common():
        budget = str(budget_s.get(directory, ""))
        yield f"{used_s:8.1f} {budget:>7} {wall_s[directory]:8.1f} {tests[directory]:6}  {directory}"
    yield f"{around_s:8.1f} {'':7} {'':8} {'':6}  collecting, once in each worker"
    yield f"{cpu_s.total() + around_s:8.1f} {sum(budget_s.values()):7} {wall_s.total():8.1f} {len(spent):6}  together"
    yield "the slowest, by the clock:"
    for each in sorted(spent, key=lambda each: -each.wall_s)[:SLOWEST]:
        yield f"{each.cpu_s:8.1f} {'':7} {each.wall_s:8.1f} {'':6}  {each.nodeid}"
    yield "what one worker did longest:"
    for name, took_s in group_s.most_common(LONGEST_GROUPS):
        yield f"{'':8} {'':7} {took_s:8.1f} {'':6}  {name}"
    yield from said


def directory_of(nodeid: str) -> str:
    """tests/unit and its like."""
    return "/".join(nodeid.split("::", 1)[0].split("/")[:2])


def budgets(page: Path) -> dict[str, int]:
    """Seconds of CPU by directory, from the table of CONTRIBUTING.md."""
    rows = re.findall(r"^\| `(tests/[a-z_]+)` \| (\d+) \|", page.read_text(), re.MULTILINE)
    return {directory: int(seconds) for directory, seconds in rows}


@pytest.hookimpl
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Times(), "times")


@pytest.fixture
def said(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Lines for the end of the run."""
    return lambda text: request.node.user_properties.append(("said", text.strip()))
