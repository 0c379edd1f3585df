"""Wall time of a stretch of work, and how busy the busiest thread of this process was in it."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType

TASKS = Path("/proc/self/task")


def _thread_seconds() -> dict[str, float]:
    """CPU seconds of every thread that lives now."""
    times = {}
    for task in TASKS.iterdir():
        try:
            times[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except FileNotFoundError:  # the thread ended in between
            continue
    return times


class Stopwatch:
    """`with Stopwatch() as watch:` then `watch.seconds` and `watch.busy`."""

    seconds = 0.0
    busy = 0.0

    def __enter__(self) -> Stopwatch:
        self._threads = _thread_seconds()
        self._begin = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._begin
        used = _thread_seconds()
        most = max(used[name] - self._threads.get(name, 0.0) for name in used)
        self.busy = most / self.seconds
