"""The bridge between code that waits and an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ottla.base.errors import OttlaError
from ottla.client.sync import LoopThread


async def name_of_thread() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_work_runs_in_the_thread_and_its_result_comes_back() -> None:
    thread = LoopThread("bridge")
    assert thread.run(name_of_thread()) == "bridge"
    thread.stop()
    assert "bridge" not in [each.name for each in threading.enumerate()]
    with pytest.raises(OttlaError, match="this client was closed"):
        thread.run(name_of_thread())


def test_a_failure_comes_back_too() -> None:
    async def fail() -> None:
        raise ValueError("as it must")

    thread = LoopThread("bridge")
    with pytest.raises(ValueError, match="as it must"):
        thread.run(fail())
    thread.stop()


def test_stopping_ends_what_still_runs_and_can_be_done_twice() -> None:
    ended = threading.Event()

    async def begin() -> None:
        asyncio.get_running_loop().keep = asyncio.create_task(last())  # type: ignore[attr-defined]

    async def last() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    thread = LoopThread("bridge")
    thread.run(begin())
    thread.run(asyncio.sleep(0))
    thread.stop()
    thread.stop()
    assert ended.is_set()


def test_waiting_inside_the_thread_itself_is_refused() -> None:
    thread = LoopThread("bridge")

    async def inside() -> None:
        thread.run(name_of_thread())

    with pytest.raises(OttlaError, match="wait for ever"):
        thread.run(inside())
    thread.stop()
