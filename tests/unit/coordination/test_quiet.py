"""Quiet is when nobody has asked for some turns of the loop, more of them where people come slowly."""

import asyncio
from collections.abc import Awaitable, Callable

from ottla.coordination.quiet import FEWEST_TURNS, Quiet

Story = Callable[[Quiet, list[str]], Awaitable[None]]


def tell(story: Story) -> None:
    async def run() -> None:
        said: list[str] = []
        await story(Quiet(lambda: said.append("quiet")), said)

    asyncio.run(run())


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_it_is_said_once_when_nobody_asks() -> None:
    async def story(quiet: Quiet, said: list[str]) -> None:
        quiet.watch()
        await turns(FEWEST_TURNS - 1)
        assert not said
        await turns(2)
        assert said == ["quiet"]
        await turns(3 * FEWEST_TURNS)
        assert said == ["quiet"]

    tell(story)


def test_who_asks_puts_it_off() -> None:
    async def story(quiet: Quiet, said: list[str]) -> None:
        quiet.watch()
        for _ in range(3):
            await turns(FEWEST_TURNS // 2)
            quiet.disturbed()
            quiet.watch()
        await turns(FEWEST_TURNS - 2)
        assert not said
        await turns(4)
        assert said == ["quiet"]

    tell(story)


def test_those_who_come_slowly_are_waited_for_longer() -> None:
    async def story(quiet: Quiet, said: list[str]) -> None:
        quiet.watch()
        for _ in range(20):
            await turns(FEWEST_TURNS - 10)
            quiet.disturbed()
        await turns(2 * FEWEST_TURNS)
        assert not said
        await turns(10 * FEWEST_TURNS)
        assert said == ["quiet"]

    tell(story)


def test_nothing_is_said_to_who_no_longer_listens() -> None:
    async def story(quiet: Quiet, said: list[str]) -> None:
        quiet.watch()
        quiet.stop()
        await turns(2 * FEWEST_TURNS)
        assert not said
        quiet.watch()
        await turns(2 * FEWEST_TURNS)
        assert said == ["quiet"]

    tell(story)
