"""When a connector is started, stopped and tried again."""

from ottla.connect.worker.running import (
    CALM_S,
    LONGEST_RETRY_S,
    Phase,
    Run,
    Step,
    failed,
    next_step,
)
from ottla.connect.worker.view import Known, Target


def known(version: int = 1, target: Target = Target.STARTED) -> Known:
    return Known(config={}, version=version, target=target)


def test_a_connector_that_is_wanted_is_started_and_then_left_alone() -> None:
    run = Run()
    assert next_step(run, known(), 0) is Step.START
    run.phase, run.version = Phase.RUNNING, 1
    assert next_step(run, known(), 0) is Step.NOTHING


def test_what_is_changed_paused_or_deleted_is_stopped() -> None:
    run = Run(Phase.RUNNING, version=1)
    assert next_step(run, known(version=2), 0) is Step.STOP
    assert next_step(run, known(target=Target.PAUSED), 0) is Step.STOP
    assert next_step(run, None, 0) is Step.STOP


def test_nothing_is_done_while_something_is_under_way() -> None:
    for phase in (Phase.STARTING, Phase.STOPPING):
        assert next_step(Run(phase, version=1), known(version=2), 0) is Step.NOTHING


def test_failures_are_tried_again_after_pauses_that_grow_to_a_bound() -> None:
    run, now, pauses = Run(version=1), 0.0, []
    for _ in range(9):
        failed(run, now, may_pass=True)
        assert run.retry_at is not None
        pauses.append(run.retry_at - now)
        assert next_step(run, known(), run.retry_at - 0.01) is Step.NOTHING
        assert next_step(run, known(), run.retry_at) is Step.START
        now = run.began = run.retry_at
    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses[-1] == LONGEST_RETRY_S
    failed(run, now + CALM_S + 1, may_pass=True)
    assert run.retry_at == now + CALM_S + 2


def test_what_only_a_person_can_mend_waits_for_another_configuration() -> None:
    run = Run(version=1)
    failed(run, 0, may_pass=False)
    assert next_step(run, known(), 1e9) is Step.NOTHING
    assert next_step(run, known(version=2), 0) is Step.START
