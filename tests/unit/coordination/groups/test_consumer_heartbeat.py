"""Heartbeats that change nothing, and newcomers, take a short way, which leads where the long one does."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from ottla.coordination.groups import consumer_heartbeat
from ottla.coordination.groups.consumer_gathering import LONGEST_MS
from tests.unit.coordination.groups.consumer_clients import GROUP, Client, World

STEPS = st.lists(
    st.tuples(
        st.sampled_from(("join", "beat", "beat", "leave", "topic", "wait")), st.integers(0, 3)
    ),
    max_size=25,
)


def told(steps: list[tuple[str, int]]) -> list[Any]:
    """What a story leaves behind: the log, what happened, what everybody was told, and when sessions end."""
    world = World(group_consumer_max_size=3)
    world.set_topic("t", 4)
    clients = [Client(world, f"m{n}", f"i{n}" if n == 0 else None) for n in range(4)]
    answers: list[Any] = []
    waiting: list[Callable[[], int]] = []
    for what, number in [*steps, ("wait", 0)]:
        client = clients[number]
        if what == "join":
            waiting.append(client.begin_join("t", "u"))
        elif what == "beat":
            answers.append(client.heartbeat())
            client.revoke()
        elif what == "leave":
            answers.append(client.leave())
        elif what == "topic":
            world.set_topic("u", number)
        else:
            world.advance(LONGEST_MS + 20_000 * number)
            answers += [answered() for answered in waiting]
            waiting.clear()
        answers.append((client.epoch, sorted(map(str, client.owned))))
    sessions = (("consumer-session", GROUP, client.name) for client in clients)
    deadlines = [world.shard.timers.deadline_ms(session) for session in sessions]
    return [world.log, world.shard.history.events(GROUP), answers, deadlines]


@given(STEPS)
@example([("join", 1), ("wait", 0), ("join", 2), ("beat", 1)])
def test_the_short_way_leads_where_the_long_one_does(steps: list[tuple[str, int]]) -> None:
    short = told(steps)
    with (
        patch.object(consumer_heartbeat, "_stays", return_value=False),
        patch.object(consumer_heartbeat, "_is_newcomer", return_value=False),
    ):
        assert short == told(steps)


def test_one_that_says_only_that_it_lives_leaves_nothing_in_the_log() -> None:
    world = World()
    world.set_topic("t", 2)
    client = Client(world, "m", "i")
    client.join("t")
    client.heartbeat()
    written = len(world.log)
    world.advance(1000)
    assert client.heartbeat() == 0
    assert client.reads() == {("t", 0), ("t", 1)}
    assert len(world.log) == written
    session = ("consumer-session", GROUP, "m")
    expected_ms = world.now_ms + world.config.group_consumer_session_timeout_ms
    assert world.shard.timers.deadline_ms(session) == expected_ms
