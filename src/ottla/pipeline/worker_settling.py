"""What a Python worker of Spark does once, when it has done its first work and has imported all that it needs."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def settle() -> None:
    """Spare this worker what it need not do, and people what they need not read."""
    _settle(os.getpid())


def settles(work: Callable[P, R]) -> Callable[P, R]:
    """The same after some work, whether it succeeds or not."""

    @wraps(work)
    def settled(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return work(*args, **kwargs)
        finally:
            settle()

    return settled


@cache
def _settle(process: int) -> None:
    spare_collector()
    end_quietly(sys.modules["__main__"])


def spare_collector() -> None:
    """Leave what is alive now out of all collections to come.

    PySpark has a worker collect garbage after everything it has done. With all the modules of Arrow, pandas and numba
    that took 45 ms of CPU, four to eight times for each batch of a stream; they are never garbage.
    """
    gc.freeze()


def end_quietly(daemon: Any) -> None:
    """Have PySpark's daemon, from which a worker is forked, print nothing when Spark is done with it.

    Spark ends a worker by closing its socket, after a minute of rest. What PySpark then writes to it is refused at
    once if that is a Unix socket, and a BrokenPipeError is printed into the middle of whatever a person is doing.
    """
    spec = getattr(daemon, "__spec__", None)
    if spec is not None and spec.name == "pyspark.daemon" and hasattr(daemon, "traceback"):
        daemon.traceback = _WithoutBrokenPipes()


class _WithoutBrokenPipes:
    """The module `traceback` as the daemon knows it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(traceback, name)

    def print_exc(self) -> None:
        """Print the exception that is being handled, unless nobody is at the other end."""
        if not isinstance(sys.exception(), BrokenPipeError):
            traceback.print_exc()
