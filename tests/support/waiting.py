"""Bounded waits on conditions, so that no test sleeps for longer than it must."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T], what: str, timeout_s: float = 10.0, every_s: float = 0.02
) -> T:
    """Return the first true value of the condition, or fail with a sentence saying what."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain for {what}")
        time.sleep(every_s)
