"""Pure: where replicas go: leaders in turn, replicas spread over racks first and brokers second.

Within one topic each broker leads as many partitions as any other, give or take one. The replicas
of a partition share a rack only when no other rack has a broker to spare. The followers of one
broker's partitions are spread over the others, so that its load is shared out when it dies.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """A broker that may be given replicas; without a rack it stands alone."""

    broker_id: int
    rack: str | None

    @property
    def place(self) -> str | int:
        """What replicas should not share."""
        return self.broker_id if self.rack is None else self.rack


Replicas = tuple[int, ...]


def assign_replicas(
    brokers: Sequence[Candidate],
    count: int,
    replication_factor: int,
    *,
    start: int = 0,
    existing: Sequence[Replicas] = (),
) -> list[Replicas]:
    """Places `count` more partitions beside the existing ones; the first replica is the leader.

    There must be as many brokers as replicas. `start` turns the order of the brokers, so that the
    first partitions of all topics do not meet on one broker.
    """
    if len(brokers) == 1:
        return [(brokers[0].broker_id,)] * count
    placing = _Placing(brokers, start, existing)
    return [placing.next_partition(replication_factor) for _ in range(count)]


def add_replicas(
    brokers: Sequence[Candidate], existing: Sequence[Replicas], replication_factor: int
) -> list[Replicas]:
    """Gives partitions more replicas beside those they have, and lets their brokers lead in turn.

    There must be as many brokers as replicas, and all that hold some must be among them.
    """
    placing = _Placing(brokers, 0, existing)
    widened = [placing.widen(replicas, replication_factor) for replicas in existing]
    turns = (index % len(replicas) for index, replicas in enumerate(widened))
    return [
        replicas[turn:] + replicas[:turn] for turn, replicas in zip(turns, widened, strict=True)
    ]


class _Placing:
    """The state of placing one topic: who has how much of it so far."""

    def __init__(
        self, brokers: Sequence[Candidate], start: int, existing: Sequence[Replicas]
    ) -> None:
        self._order = _by_turns(brokers)
        self._start = start
        self._placed = len(existing)
        self._leads = Counter(replicas[0] for replicas in existing)
        self._holds = Counter(broker for replicas in existing for broker in replicas)

    def next_partition(self, replication_factor: int) -> Replicas:
        leader = self._choose_leader()
        chosen = [leader]
        while len(chosen) < replication_factor:
            chosen.append(self._choose_follower(chosen))
        self._leads[leader.broker_id] += 1
        self._holds.update(broker.broker_id for broker in chosen)
        self._placed += 1
        return tuple(broker.broker_id for broker in chosen)

    def widen(self, replicas: Replicas, replication_factor: int) -> Replicas:
        known = {broker.broker_id: broker for broker in self._order}
        chosen = [known[broker_id] for broker_id in replicas]
        while len(chosen) < replication_factor:
            chosen.append(self._choose_follower(chosen))
            self._holds[chosen[-1].broker_id] += 1
        return tuple(broker.broker_id for broker in chosen)

    def _choose_leader(self) -> Candidate:
        first = self._start + self._placed

        def cost(index: int) -> tuple[int, int, int]:
            broker_id = self._order[index].broker_id
            return self._leads[broker_id], self._holds[broker_id], self._distance(first, index)

        return self._order[min(range(len(self._order)), key=cost)]

    def _choose_follower(self, chosen: list[Candidate]) -> Candidate:
        places = Counter(broker.place for broker in chosen)
        # One more step away from the leader in each round: its followers differ from last time's.
        shift = 1 + self._placed // len(self._order) % max(1, len(self._order) - 1)
        first = self._order.index(chosen[0]) + shift

        def cost(index: int) -> tuple[int, int, int]:
            broker = self._order[index]
            return (
                places[broker.place],
                self._holds[broker.broker_id],
                self._distance(first, index),
            )

        free = [i for i, broker in enumerate(self._order) if broker not in chosen]
        return self._order[min(free, key=cost)]

    def _distance(self, origin: int, index: int) -> int:
        return (index - origin) % len(self._order)


def _by_turns(brokers: Sequence[Candidate]) -> list[Candidate]:
    """Orders brokers so that neighbours are in different racks: one of each rack, then the next."""
    seen: Counter[str | int] = Counter()
    turns: list[tuple[int, str, int, Candidate]] = []
    for broker in sorted(brokers):
        turns.append((seen[broker.place], str(broker.place), broker.broker_id, broker))
        seen[broker.place] += 1
    return [turn[-1] for turn in sorted(turns, key=lambda turn: turn[:3])]
