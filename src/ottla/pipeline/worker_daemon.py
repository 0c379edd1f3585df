"""PySpark's daemon, which forks its workers, with what the tasks of ottla import already in memory.

The script of `worker_python` runs it as `-m ottla.pipeline.worker_daemon WORKER-MODULE`. Threads that importing starts
do not mind the fork: jemalloc (in pyarrow) and OpenBLAS (in numpy) have handlers for it.
"""

from __future__ import annotations

import gc
import runpy
import sys
import warnings
from importlib import import_module
from typing import Final

_TASKS: Final = "pyspark.worker"
"""The daemon of this module forks what reads and writes records; all others fork one worker that is kept."""
_PRELOADED: Final = (
    "ottla.pipeline.reading",
    "ottla.pipeline.sink_task",
    "ottla.pipeline.source_batch",
    "ottla.pipeline.stream",
    "ottla.pipeline.sink",
)


def preload() -> None:
    """Import what tasks need, and load the compiled loops; a task that fails to finds the reason itself."""
    try:
        for name in _PRELOADED:
            import_module(name)
        from ottla.pipeline.compiled import warm

        warm()
    except Exception as error:
        print(f"ottla's part of Spark's workers was not loaded ahead: {error!r}", file=sys.stderr)
    gc.freeze()  # what all workers have is not copied by their collections


def main() -> None:
    """Become PySpark's daemon."""
    arguments = sys.argv[1:]
    if arguments[:1] in ([], [_TASKS]):
        preload()
    # Python warns of each fork of a process with threads.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*multi-threaded.*fork")
    sys.argv = ["pyspark.daemon", *arguments]
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
