"""`python -m tests.pipeline.kills [--runs N] [NAME]...`: each victim at each step, as often as asked; then mutants."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ottla.pipeline import sink_steps as steps
from tests.pipeline.kills.brokers import one_broker, three_brokers
from tests.pipeline.kills.job import COPY, COUNT, FRAMES, Job
from tests.pipeline.kills.scene import Brokers, Scene

CLUSTER = "local-cluster[2,1,1024]"
ROWS_PER_BATCH = 120
OF_TASKS = (steps.SLOT_OPENED, steps.FIRST_SENT, steps.PART_WRITTEN)
OF_DRIVERS = (steps.BEFORE_COMMIT, steps.AFTER_COMMIT)
ANY = Job(bootstrap="", source="", sink="", checkpoint="", rows_per_batch=ROWS_PER_BATCH)


@dataclass(frozen=True)
class Plan:
    """Who is struck at which step, in which job."""

    victim: str
    step: str
    job: Job
    brokers: int = 1

    @property
    def name(self) -> str:
        """How the plan is called on the command line."""
        where = "-of-three" if self.brokers > 1 else ""
        told = "" if self.job.format == "ottla" else f"-{self.job.format}"
        return f"{self.victim}{where}-{self.step}-{self.job.kind}{told}"

    @property
    def is_mutant(self) -> bool:
        """Whether the sink is one that must be caught."""
        return self.job.format != "ottla"


def plans() -> Iterable[Plan]:
    """All there are."""
    on_cluster = replace(ANY, master=CLUSTER)
    for kind in (COPY, COUNT, FRAMES):
        for step in (*OF_TASKS, *OF_DRIVERS):
            yield Plan("driver", step, replace(ANY, kind=kind))
            yield Plan("broker", step, replace(on_cluster, kind=kind))
    for step in OF_TASKS:
        for victim in ("executor", "worker"):
            for kind in (COPY, COUNT):
                yield Plan(victim, step, replace(on_cluster, kind=kind))
        yield Plan("broker", step, on_cluster, brokers=3)
    yield Plan("sleep", steps.FIRST_SENT, replace(on_cluster, sink_timeout="2s"))
    for step in OF_DRIVERS:
        yield Plan("executor", step, on_cluster)
        yield Plan("broker", step, on_cluster, brokers=3)
    for kind in (COPY, COUNT):
        yield Plan("driver-soon", steps.BEFORE_COMMIT, replace(ANY, kind=kind))
        yield Plan("broker-soon", steps.BEFORE_COMMIT, replace(on_cluster, kind=kind))
    yield Plan("driver", steps.PART_SKIPPED, ANY)
    yield Plan("executor", steps.PART_SKIPPED, on_cluster)
    yield Plan("driver", steps.BEFORE_COMMIT, replace(ANY, format="commit-per-task"))
    yield Plan("driver", steps.AFTER_COMMIT, replace(ANY, format="no-ledger"))


def carried_out(plan: Plan, runs: int, directory: Path) -> None:
    """Strike `runs` times, let the job end, and look at what it wrote."""
    made: AbstractContextManager[Brokers]
    made = one_broker(directory) if plan.brokers == 1 else three_brokers(directory)
    with made as brokers:
        scene = Scene(brokers, directory, plan.job, (runs + 2) * ROWS_PER_BATCH)
        try:
            for _ in range(runs):
                if plan.step == steps.PART_SKIPPED:
                    # Only a batch that was committed, and of which Spark knows nothing, is skipped.
                    scene.strike(steps.AFTER_COMMIT, "driver")
                scene.strike(plan.step, plan.victim)
            scene.finish()
            if plan.is_mutant:
                assert scene.differences(), f"{plan.job.format} was not caught"
            else:
                scene.check()
        except AssertionError:
            print(scene.log_file.read_text(errors="replace")[-3000:], file=sys.stderr)
            raise
        finally:
            scene.kill_driver()


def main() -> int:
    """Carry out all plans, or those whose names hold a word that was given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="strikes of each plan")
    parser.add_argument("words", nargs="*", help="only plans whose names hold one of these")
    arguments = parser.parse_args()
    failed = []
    for plan in plans():
        if arguments.words and not any(word in plan.name for word in arguments.words):
            continue
        began = time.monotonic()
        try:
            with TemporaryDirectory(prefix="ottla-kills-") as directory:
                carried_out(plan, 1 if plan.is_mutant else arguments.runs, Path(directory))
            outcome = "caught" if plan.is_mutant else "each row once"
        except AssertionError as error:
            failed.append(plan.name)
            outcome = f"FAILED: {error}"
        print(f"{plan.name:45} {time.monotonic() - began:6.0f} s  {outcome}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
