"""A cluster in which nothing happens: followers ask again only when their patience has ended."""

import asyncio

from tests.simulation.pace import SHORT
from tests.simulation.story import Story, a_world

SECONDS = 10
FOLLOWERS = 2


def test_followers_do_not_ask_again_and_again_while_nothing_is_written() -> None:
    patient = SHORT._replace(fetch_wait_s=0.1)
    with a_world(0, 3, patient) as (loop, world):
        loop.run_until_complete(Story(world).begin())
        before = loop.events
        loop.run_until_complete(asyncio.sleep(SECONDS))
        fetches = FOLLOWERS * SECONDS / patient.fetch_wait_s
        assert loop.events - before < 5 * fetches, (
            "a wait, and a request and its answer that arrive"
        )
