"""Pure: when a connector is started, stopped and tried again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ottla.connect.worker.view import Known, Target

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0
CALM_S = 120.0
"""A connector that ran for so long begins anew with the first pause."""


class Phase(StrEnum):
    """What is going on with a connector here."""

    IDLE = "IDLE"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    FAILED = "FAILED"


class Step(StrEnum):
    """What is to be done next."""

    NOTHING = "NOTHING"
    START = "START"
    STOP = "STOP"


@dataclass
class Run:
    """One connector in this worker."""

    phase: Phase = Phase.IDLE
    version: int = 0
    query: Any = None
    failures: int = 0
    retry_at: float | None = None
    """When a connector that failed is tried again; None if only a person can mend it."""
    began: float = 0.0
    told: str | None = None
    """The failure that the status tells of."""


def next_step(run: Run, known: Known | None, now: float) -> Step:
    """Return what to do about a connector, of which None is known when it was deleted."""
    wanted = known is not None and known.target is Target.STARTED
    if run.phase in (Phase.STARTING, Phase.STOPPING):
        return Step.NOTHING
    if run.phase is Phase.RUNNING:
        is_current = known is not None and run.version == known.version
        return Step.NOTHING if wanted and is_current else Step.STOP
    if not wanted or known is None:
        return Step.NOTHING
    if run.phase is Phase.IDLE or run.version != known.version:
        return Step.START
    return Step.START if run.retry_at is not None and now >= run.retry_at else Step.NOTHING


def failed(run: Run, now: float, *, may_pass: bool, is_early: bool = False) -> None:
    """Note a failure, and when to try again; `is_early` where something is only not there yet."""
    if is_early:
        run.phase, run.query, run.retry_at = Phase.FAILED, None, now + FIRST_RETRY_S
        return
    if now - run.began > CALM_S:
        run.failures = 0
    pause = min(FIRST_RETRY_S * 2**run.failures, LONGEST_RETRY_S)
    run.failures += 1
    run.phase, run.query = Phase.FAILED, None
    run.retry_at = now + pause if may_pass else None
