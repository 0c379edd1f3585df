"""How long things take in a story: many short stories find most of what there is to find, a few long ones the rest."""

from typing import NamedTuple


class Pace(NamedTuple):
    """Time-outs, the lengths of faults, and the pauses between them; all in virtual time."""

    stories: int
    """How many are told of one world."""
    faults: int
    events: int
    """At least so many faults, and so many events, in each story."""
    partitions: int
    producers: int
    lag_s: float
    session_timeout_s: float
    socket_timeout_s: float
    fetch_wait_s: float
    patience_s: float
    """How long a client waits for an answer."""
    pause_s: float
    """The longest pause of a producer between two records."""
    lasts_s: tuple[float, ...]
    """What a fault may last."""
    between_s: float
    """The longest time from the end of a fault to the next."""

    def settings(self) -> tuple[str, ...]:
        """What brokers are told of it."""
        return (
            f"replica.lag.time.max.ms={int(self.lag_s * 1000)}",
            f"replica.socket.timeout.ms={int(self.socket_timeout_s * 1000)}",
            f"replica.fetch.wait.max.ms={int(self.fetch_wait_s * 1000)}",
        )


LONG = Pace(
    stories=1,
    faults=4,
    events=2000,
    partitions=2,
    producers=3,
    lag_s=3.0,
    session_timeout_s=6.0,
    socket_timeout_s=2.0,
    fetch_wait_s=0.5,
    patience_s=1.5,
    pause_s=0.3,
    lasts_s=(0.01, 0.05, 0.5, 2.0, 9.0),
    between_s=3.0,
)
SHORT = Pace(
    stories=10,
    faults=3,
    events=500,
    partitions=1,
    producers=2,
    lag_s=0.6,
    session_timeout_s=1.2,
    socket_timeout_s=0.5,
    fetch_wait_s=0.4,
    patience_s=0.4,
    pause_s=0.6,
    lasts_s=(0.01, 0.05, 0.3, 0.8, 1.8),
    between_s=0.3,
)
