"""What goes wrong in a story of the model, and when: drawn by Hypothesis, so that it shrinks to what matters."""

from typing import NamedTuple

from hypothesis import strategies as st

WORKERS = 2
KINDS = (
    "stall",  # a program is busy after its poll for longer than its time-outs
    "freeze",  # a whole process stands still: not even heartbeats leave it
    "stall in transaction",
    "cancel",  # a program gives up waiting, wherever it waits, and goes on
    "cancel while partitions leave",
    "lose answers",  # what brokers answer to one process is lost
    "reset",  # connections of a broker break
    "kill",  # a broker dies, and comes back
    "elect",  # leaders move back to where they belong
)


class Event(NamedTuple):
    """One thing that goes wrong."""

    kind: str
    whom: int
    after_s: float
    lasts_s: float


def events(kinds: tuple[str, ...] = KINDS) -> st.SearchStrategy[Event]:
    """One event of these kinds."""
    return st.builds(
        Event,
        st.sampled_from(kinds),
        st.integers(0, 2),
        st.sampled_from((0.0, 0.02, 0.1, 0.4, 1.0)),
        st.sampled_from((0.1, 0.5, 1.5, 4.0)),
    )


class Plan(NamedTuple):
    """A story: how members share partitions, the seed of all small delays, and what goes wrong."""

    protocol: str
    seed: int
    events: tuple[Event, ...]


def plans(kinds: tuple[str, ...] = KINDS, most: int = 6) -> st.SearchStrategy[Plan]:
    """Plans with at least one event."""
    return st.builds(
        Plan,
        st.sampled_from(("range", "cooperative-sticky", "consumer")),
        st.integers(0, 1000),
        st.lists(events(kinds), min_size=1, max_size=most).map(tuple),
    )
