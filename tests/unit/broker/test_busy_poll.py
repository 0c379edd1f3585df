"""A loop that has just gone to sleep when it is woken stays awake longer the next time."""

import asyncio
from collections.abc import Awaitable, Callable

from ottla.broker.busy_poll import FEWEST_TURNS, MOST_TURNS, SHORT_SLEEP_S, BusyPoll


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def tell(story: Callable[[Clock, BusyPoll], Awaitable[None]]) -> None:
    clock = Clock()
    asyncio.run(story(clock, BusyPoll(clock)))


async def until_asleep(busy_poll: BusyPoll) -> int:
    """How many turns of the loop it takes until nothing keeps it awake."""
    turns = 0
    while busy_poll._polls:
        await asyncio.sleep(0)
        turns += 1
    return turns


async def ask(clock: Clock, busy_poll: BusyPoll, after_s: float) -> int:
    """A request comes some time after the loop has gone to sleep; the turns in which it is awake then."""
    clock.now += after_s
    busy_poll.served()
    return await until_asleep(busy_poll)


def test_a_broker_that_is_asked_now_and_then_sleeps_at_once() -> None:
    async def story(clock: Clock, busy_poll: BusyPoll) -> None:
        assert [await ask(clock, busy_poll, 0.01) for _ in range(5)] == [1] * 5

    tell(story)


def test_one_that_is_asked_again_and_again_stays_awake_for_a_while() -> None:
    async def story(clock: Clock, busy_poll: BusyPoll) -> None:
        await ask(clock, busy_poll, 0.01)
        awake = [await ask(clock, busy_poll, SHORT_SLEEP_S / 2) for _ in range(8)]
        assert awake[0] == FEWEST_TURNS + 1
        assert awake == sorted(awake)
        assert awake[-1] == MOST_TURNS + 1

    tell(story)


def test_and_gives_that_up_when_the_client_has_become_slow() -> None:
    async def story(clock: Clock, busy_poll: BusyPoll) -> None:
        for _ in range(8):
            await ask(clock, busy_poll, 0.0)
        awake = [await ask(clock, busy_poll, 2 * SHORT_SLEEP_S) for _ in range(8)]
        assert awake == sorted(awake, reverse=True)
        assert awake[-1] == 1

    tell(story)


def test_every_request_in_the_meantime_begins_the_while_anew() -> None:
    async def story(clock: Clock, busy_poll: BusyPoll) -> None:
        for _ in range(8):
            await ask(clock, busy_poll, 0.0)
        busy_poll.served()
        for _ in range(10 * MOST_TURNS):
            await asyncio.sleep(0)
            busy_poll.served()
        assert await until_asleep(busy_poll) == MOST_TURNS + 1
        assert busy_poll.turns == MOST_TURNS

    tell(story)
