"""Markers that another broker is slow to write: they are asked for once, as long as the answer may still come."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.errors import ClientError
from ottla.coordination.transactions.between_brokers import markers_request
from ottla.coordination.transactions.ends import Age, EndMarkers
from ottla.coordination.transactions.markers import MarkerWriter
from ottla.coordination.transactions.state import Producer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from ottla.protocol.codec import decode_request, encode_request
from ottla.protocol.errors import ErrorCode
from ottla.protocol.header import parse_request_header
from ottla.protocol.records.control import EndTransactionMarker

HERE, ELSEWHERE = 1, 2
MARKERS = EndMarkers("payments", Producer(7, 0), True, [TopicPartition("t", 0)], 0, Age(1, 2))


class SlowBroker:
    """Another broker that leads everything, and answers when it is told to."""

    def __init__(self) -> None:
        self.membership = SimpleNamespace(broker_id=HERE)
        self.topics: dict[str, object] = {}
        self.asked: list[asyncio.Future[Any]] = []
        self.requests: list[Any] = []

    async def ask(self, broker_id: int, request: object) -> Any:
        """Wait for the answer."""
        assert broker_id == ELSEWHERE
        self.requests.append(request)
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


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("code", "written"),
    [
        (ErrorCode.NONE, True),
        (ErrorCode.INVALID_PRODUCER_EPOCH, True),
        (ErrorCode.TRANSACTION_COORDINATOR_FENCED, False),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, False),
    ],
)
def test_a_marker_that_was_fenced_does_not_count_as_written(code: int, written: bool) -> None:
    told: list[Any] = []
    coordinator = SimpleNamespace(
        topic="__transaction_state",
        partition_of=lambda _: None,
        write=lambda transactional_id, decide: told.append(transactional_id),
    )

    async def story() -> Any:
        slow, tasks = SlowBroker(), Tasks()
        given: Any = (SimpleNamespace(), slow, lambda: slow, tasks, lambda: 0, lambda *_: None)
        writer = MarkerWriter(*given)
        writer.serve(cast(Any, coordinator))
        writer(MARKERS._replace(transaction_version=2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        result = WritableTxnMarkerPartitionResult(partition_index=0, error_code=code)
        topic = WritableTxnMarkerTopicResult(name="t", partitions=[result])
        answer = WritableTxnMarkerResult(producer_id=7, topics=[topic])
        slow.asked[0].set_result(WriteTxnMarkersResponse(markers=[answer]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return slow.requests[0]

    request = asyncio.run(story())
    assert told == (["payments"] if written else [])
    assert [marker.transaction_version for marker in request.markers] == [2]


def test_the_version_of_a_transaction_reaches_other_brokers_that_know_it() -> None:
    request = markers_request(
        MARKERS._replace(transaction_version=2), MARKERS.partitions, EndTransactionMarker(True, 5)
    )
    for version, arrived in ((1, 0), (2, 2)):
        frame = memoryview(encode_request(request, version, 1, None))[4:]
        begin = parse_request_header(frame, 0, len(frame))[-1]
        key = int(ApiKey.WRITE_TXN_MARKERS)
        [marker] = decode_request(key, version, frame, begin, len(frame)).markers
        assert marker.transaction_version == arrived
