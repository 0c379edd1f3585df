"""Has a Python worker keep the memory of one fetch for the next, and spares it looking for garbage where none is.

glibc maps large blocks one by one and unmaps them when they are freed; their pages are then zeroed and faulted in anew,
1000 for each fetch of 4 MiB: that took 3.3 ms of CPU for a fetch of 1 KB records, and takes 0.9 without it.

PySpark has a worker collect garbage after everything it has done. With all the modules of Arrow, pandas and numba that
took 45 ms of CPU, four to eight times for each batch of a stream; they are never garbage.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Final, ParamSpec, TypeVar

from ottla.base.units import MiB

P = ParamSpec("P")
R = TypeVar("R")

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Their numbers in malloc.h."""
_LARGEST_KEPT_BYTES: Final = 32 * MiB
"""As much as glibc allows."""
_KEPT_BYTES: Final = 64 * MiB


def keep_memory() -> None:
    """Keep blocks of up to 32 MiB, and 64 MiB of free memory in all; without glibc, nothing changes."""
    _keep(os.getpid())


@cache
def _keep(process: int) -> None:
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def spare_collector() -> None:
    """Leave what is alive now out of all collections to come; to be called when a worker has done its first work."""
    _freeze(os.getpid())


@cache
def _freeze(process: int) -> None:
    gc.freeze()


def spares_collector(work: Callable[P, R]) -> Callable[P, R]:
    """The same after some work, which imports what it needs."""

    @wraps(work)
    def done(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return work(*args, **kwargs)
        finally:
            spare_collector()

    return done
