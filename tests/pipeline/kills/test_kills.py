"""The short part of the kill tests: each victim once, where it hurts; `make spark-kills` does the rest."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.pipeline.sink_steps import AFTER_COMMIT, BEFORE_COMMIT, FIRST_SENT, PART_WRITTEN
from tests.pipeline.kills.application import COPY, COUNT, Job
from tests.pipeline.kills.brokers import one_broker
from tests.pipeline.kills.held_broker import DECIDED
from tests.pipeline.kills.plans import MUTANT_STEPS, THREADS
from tests.pipeline.kills.scene import Scene
from tests.pipeline.kills.standalone import SparkCluster
from tests.support.requirements import requires

ONE_EXECUTOR = SparkCluster("local-cluster[1,6,1024]")
JOBS = [Job(COPY), Job(COUNT, COUNT), *(Job(name, COPY, name) for name in MUTANT_STEPS)]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    requires("java")
    with one_broker(tmp_path) as broker:
        made = Scene(broker, tmp_path, JOBS, ONE_EXECUTOR, patience=2)
        yield made
        made.end()


@pytest.mark.slow
def test_whoever_dies_each_row_is_written_once_unless_the_sink_lacks_a_promise(
    scene: Scene,
) -> None:
    copy, count, *mutants = scene.jobs
    scene.strike("executor", {copy.sink: FIRST_SENT, count.sink: PART_WRITTEN})
    scene.strike("broker", {copy.sink: DECIDED, count.sink: BEFORE_COMMIT})
    wounds = {mutant.sink: MUTANT_STEPS[mutant.format] for mutant in mutants}
    scene.strike("driver", {copy.sink: AFTER_COMMIT, count.sink: BEFORE_COMMIT, **wounds})
    scene.application = replace(scene.application, master=THREADS)
    scene.finish()
    scene.check()
    for mutant in mutants:
        assert scene.differences(mutant), f"{mutant.format} was not caught"
