"""How far the batch jobs of a session are: a bar on a terminal, now and then a line elsewhere.

Streams are left out: they have no end that one could be on the way to, and tell of themselves elsewhere.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from ottla.base.progress import Progress, is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

SETTINGS: Final = {
    "spark.ui.showConsoleProgress": "false",
    # Tasks tell how many records they have read with each heartbeat; Spark's own default is 10s.
    "spark.executor.heartbeatInterval": "1s",
}
"""Spark's own bar makes room for this one, which counts records."""

_LOOK_S: Final = 0.25
_LOOKS_BEFORE_DRAWING: Final = 4
"""What is done in a second needs no bar."""


class Stage(NamedTuple):
    """What Spark knows of a stage."""

    tasks: int
    finished_tasks: int
    records: int


class BatchProgress:
    """Looks at the jobs of a session, in a thread of its own, until the session ends."""

    def __init__(
        self,
        spark: SparkSession,
        to: TextIO | None = None,
        *,
        look_s: float = _LOOK_S,
        line_every_s: float | None = None,
    ) -> None:
        self._spark = spark
        self._to = to
        self._every = {} if line_every_s is None else {"line_every_s": line_every_s}
        self._look_s = look_s
        self._looks = 0
        self._progress: Progress | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="ottla-batch-progress", daemon=True).start()

    def close(self) -> None:
        """Draw nothing more."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(self._look_s):
            try:
                stages = list(running_stages(self._spark))
            except Exception:
                # The session has ended, and with it whatever there was to look at.
                break
            self._show(stages)
        self._show([])

    def _show(self, stages: list[Stage]) -> None:
        if not stages:
            self._looks = 0
            if self._progress is not None:
                self._progress.close()
                self._progress = None
            return
        self._looks += 1
        if self._progress is None:
            self._progress = Progress("records read", None, self._to, **self._every)
        if self._looks >= _LOOKS_BEFORE_DRAWING or self._every:
            records, share = summary(stages)
            self._progress.reach(records, share)


def running_stages(spark: SparkSession) -> Iterator[Stage]:
    """The stages of batch jobs that run now; the jobs of streams have a group, that of their run."""
    context = spark.sparkContext
    tracker = context.statusTracker()
    alone = set(tracker.getJobIdsForGroup(None))
    store = context._jsc.sc().statusStore()
    for job in set(tracker.getActiveJobsIds()) & alone:
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            if tracker.getStageInfo(stage) is not None:
                yield _stage(store.lastStageAttempt(stage))


def summary(stages: Iterable[Stage]) -> tuple[int, float]:
    """How many records were read, and which share of the tasks is done."""
    known = list(stages)
    tasks = sum(stage.tasks for stage in known)
    return (
        sum(stage.records for stage in known),
        sum(stage.finished_tasks for stage in known) / max(1, tasks),
    )


def is_wanted(progress: bool | None) -> bool:
    """Whether a session draws progress: as asked for, else where a person looks at it."""
    return is_terminal(sys.stderr) if progress is None else progress


def _stage(data: Any) -> Stage:
    return Stage(data.numTasks(), data.numCompleteTasks(), data.inputRecords())
