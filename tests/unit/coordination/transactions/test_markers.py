"""Markers that another broker is slow to write: they are asked for once, as long as the answer may still come."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.errors import ClientError
from ottla.coordination.transactions.ends import Age, EndMarkers
from ottla.coordination.transactions.markers import MarkerWriter
from ottla.coordination.transactions.state import Producer

HERE, ELSEWHERE = 1, 2
MARKERS = EndMarkers("payments", Producer(7, 0), True, [TopicPartition("t", 0)], 0, Age(1, 2))


class SlowBroker:
    """Another broker that leads everything, and answers when it is told to."""

    def __init__(self) -> None:
        self.membership = SimpleNamespace(broker_id=HERE)
        self.topics: dict[str, object] = {}
        self.asked: list[asyncio.Future[Any]] = []

    async def ask(self, broker_id: int, request: object) -> Any:
        """Wait for the answer."""
        assert broker_id == ELSEWHERE
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]

    def partition(self, topic: str, partition: int) -> SimpleNamespace:
        """Where it is led."""
        return SimpleNamespace(leader=ELSEWHERE)


@pytest.mark.interpreted
def test_what_is_under_way_is_not_sent_again_before_it_has_failed() -> None:
    async def story() -> list[int]:
        slow, counts = SlowBroker(), []
        tasks = Tasks()
        given: Any = (SimpleNamespace(), slow, lambda: slow, tasks, lambda: 0, lambda *_: None)
        writer = MarkerWriter(*given)
        for _ in range(3):
            writer(MARKERS)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        counts.append(len(slow.asked))
        slow.asked[0].set_exception(ClientError("it hangs"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        writer(MARKERS)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        counts.append(len(slow.asked))
        slow.asked[1].cancel()
        return counts

    assert asyncio.run(story()) == [1, 2]
