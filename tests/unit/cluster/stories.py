"""Runs a test that is written as a coroutine."""

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
