"""Runs a test that is written as a coroutine, and waits in it."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec

P = ParamSpec("P")


def story(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs an async test to its end, on a loop of its own, within bounds."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(60):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


async def until(condition: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
    """Waits on the loop for a condition, within bounds."""
    try:
        async with asyncio.timeout(timeout_s):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"waited {timeout_s:g} s in vain for {what}") from None
