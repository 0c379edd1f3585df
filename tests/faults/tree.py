"""What ZooKeeper says of a cluster: who is controller, who leads what and who is in sync; no broker is asked."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, NamedTuple, Self

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.support.waiting import wait_for

TIMEOUT_S = 30.0
NOBODY = -1


class State(NamedTuple):
    """One partition."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]


class TreeView:
    """One look after another at the metadata tree of a cluster."""

    def __init__(self, connect: str) -> None:
        self._client = KazooClient(connect, timeout=10.0, read_only=False)

    def __enter__(self) -> Self:
        self._client.start(TIMEOUT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.stop()
        self._client.close()

    def controller(self) -> int:
        """The controller, or NOBODY."""
        found = self._read("/controller")
        return NOBODY if found is None else int(found["brokerid"])

    def brokers(self) -> set[int]:
        """Who is registered."""
        return {int(each) for each in self._client.retry(self._client.get_children, "/brokers/ids")}

    def replicas(self, topic: str) -> dict[int, list[int]]:
        """Where the partitions of a topic are."""
        found = self._read(f"/brokers/topics/{topic}")
        return {int(n): list(each) for n, each in (found or {}).get("partitions", {}).items()}

    def states(self, topic: str) -> dict[int, State]:
        """All partitions of a topic."""
        found = {n: self._state(topic, n) for n in self.replicas(topic)}
        return {number: state for number, state in found.items() if state is not None}

    def leader(self, topic: str, partition: int = 0) -> int:
        """Who leads, once somebody does who is registered."""

        def led() -> int | None:
            state = self._state(topic, partition)
            return state.leader if state and state.leader in self.brokers() else None

        return wait_for(led, f"a leader of {topic}-{partition}", TIMEOUT_S)

    def is_settled(self, topics: list[str], replicas: int) -> bool:
        """Whether everything is led, and every replica is in sync."""
        states = [state for topic in topics for state in self.states(topic).values()]
        return bool(states) and all(
            state.leader != NOBODY and len(state.isr) == replicas for state in states
        )

    def _state(self, topic: str, partition: int) -> State | None:
        found = self._read(f"/brokers/topics/{topic}/partitions/{partition}/state")
        if found is None:
            return None
        return State(found["leader"], found["leader_epoch"], tuple(found["isr"]))

    def _read(self, path: str) -> dict[str, Any] | None:
        try:
            data, _ = self._client.retry(self._client.get, path)
        except NoNodeError:
            return None
        found: dict[str, Any] = json.loads(data)
        return found
