"""The short part of the kill tests: a driver dies where it hurts most; `make spark-kills` does the rest."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ottla.pipeline.sink_steps import AFTER_COMMIT, BEFORE_COMMIT
from tests.pipeline.kills.brokers import OneBroker
from tests.pipeline.kills.job import Job
from tests.pipeline.kills.scene import Scene
from tests.support.broker import OttlaBroker
from tests.support.requirements import requires

ROWS = 400
ANY = Job(bootstrap="", source="", sink="", checkpoint="")


@pytest.fixture
def scene(
    own_broker: Callable[..., OttlaBroker], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Scene]:
    requires("java")
    job, settings = request.param, {"transaction.state.log.num.partitions": "1"}
    made = Scene(OneBroker(own_broker(settings)), tmp_path, job, ROWS)
    yield made
    made.kill_driver()


@pytest.mark.slow
@pytest.mark.timeout(600)  # three times Spark, started from nothing
@pytest.mark.parametrize("scene", [ANY], indirect=True)
def test_a_driver_that_dies_around_its_commit_writes_each_row_once(scene: Scene) -> None:
    scene.strike(BEFORE_COMMIT, "driver")
    scene.strike(AFTER_COMMIT, "driver")
    scene.finish()
    scene.check()
