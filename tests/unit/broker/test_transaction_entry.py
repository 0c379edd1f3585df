"""A write that was verified does not land behind the marker that ended its transaction meanwhile."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.broker import transaction_entry
from ottla.broker.handlers import produce
from ottla.broker.internal_topics import TRANSACTIONS_TOPIC
from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.coordination.transactions.state import Producer
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from ottla.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.errors import ErrorCode
from ottla.protocol.header import parse_request_header
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.control import EndTransactionMarker
from ottla.replication.partition import Partition
from ottla.storage.validate import ValidatedBatch
from tests.unit.replication.test_partition import Watch, placed
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, make_batch, open_log

pytestmark = pytest.mark.interpreted
PRODUCER = Producer(7, 3)
ADDS_ITSELF = 11
"""The last version of Produce in which clients add partitions to their transaction themselves."""


class Leader:
    """A broker that leads one partition, and whose coordinator of transactions is another one."""

    def __init__(self, directory: Path, meanwhile: Callable[[Partition], None]) -> None:
        self.log = open_log(directory)
        self.partition = Partition(
            TP, self.log, placed(), node_id=1, watch=Watch([]), now_ms=NOW_MS
        )
        self.meanwhile = meanwhile
        elsewhere = PartitionImage(0, (2,), (2,), 2, 0, 0)
        topic = TopicImage(TRANSACTIONS_TOPIC, TOPIC_ID, (elsewhere,), 0)
        settings = SimpleNamespace(transaction_partition_verification_enable=True)
        self.broker: Any = SimpleNamespace(
            node_id=1,
            now_ms=lambda: NOW_MS,
            tasks=Tasks(),
            loop=asyncio.get_running_loop(),
            executor=ThreadPoolExecutor(1),
            metadata=SimpleNamespace(image=Image(topics={TRANSACTIONS_TOPIC: topic})),
            peers=SimpleNamespace(ask=self.verify),
            partitions=SimpleNamespace(find=self.find, leader=self.find),
            settings=SimpleNamespace(
                deep_validation=False, now=SimpleNamespace(transactions=settings)
            ),
        )

    def find(self, *_: object) -> Partition:
        """The only partition there is."""
        return self.partition

    async def verify(self, coordinator: int, request: Any) -> AddPartitionsToTxnResponse:
        """The coordinator says that the partition is in the transaction, and the answer is long on its way."""
        assert coordinator == 2
        await asyncio.sleep(0)
        self.meanwhile(self.partition)
        result = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=0)
        topic = AddPartitionsToTxnTopicResult(name=TP.topic, results_by_partition=[result])
        transaction = AddPartitionsToTxnResult(transactional_id="tx", topic_results=[topic])
        return AddPartitionsToTxnResponse(results_by_transaction=[transaction])

    async def produce(self, version: int = ADDS_ITSELF, *, transactional: bool = True) -> int:
        """The error code of a transactional batch."""
        batch = make_batch(
            1, producer_id=PRODUCER[0], epoch=PRODUCER[1], transactional=transactional
        )
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(name=TP.topic, partition_data=[data])
        request = ProduceRequest(
            transactional_id="tx", acks=-1, timeout_ms=1000, topic_data=[topic]
        )
        frame = memoryview(encode_request(request, version, 1, None))[4:]
        running: list[Any] = []
        context: Any = SimpleNamespace(
            broker=self.broker,
            version=version,
            client_id=None,
            correlation_id=1,
            connection=SimpleNamespace(listener="", peer=-1),
            go_on=running.append,
        )
        header = parse_request_header(frame, 0, len(frame))
        reply: Any = produce.handle(context, frame, header[-1])
        for work in running:
            await work
        buffers = getattr(reply, "buffers", reply)
        raw = b"".join(buffers) if isinstance(buffers, list) else bytes(buffers)
        _, response = decode_response(0, version, memoryview(raw)[4:])
        return int(response.responses[0].partition_responses[0].error_code)

    async def enter(self, *, adds: bool) -> ApiError | None:
        """Why a commit of offsets is refused, or None if it is written."""
        told: asyncio.Future[ApiError | None] = self.broker.loop.create_future()
        transaction_entry.enter(
            self.broker,
            "tx",
            PRODUCER,
            TopicPartition(*TP),
            adds=adds,
            then=lambda: told.set_result(None),
            refuse=told.set_result,
        )
        return await asyncio.wait_for(told, 10)


def abort(partition: Partition) -> None:
    """The marker of an abort that keeps the epoch, as producers of transaction version 1 end theirs."""
    marker = EndTransactionMarker(committed=False, coordinator_epoch=0)
    partition.end_transaction(*PRODUCER, marker, NOW_MS)


def abort_another(partition: Partition) -> None:
    """The same of another producer, whose business this is not."""
    marker = EndTransactionMarker(committed=False, coordinator_epoch=0)
    partition.end_transaction(PRODUCER[0] + 1, 0, marker, NOW_MS)


def lose_and_abort(partition: Partition) -> None:
    """The partition follows another leader, is cut, takes over a marker, and leads again."""
    batch = memoryview(make_batch(1))
    partition.append(ValidatedBatch(parse_header(batch), batch, -1), NOW_MS)
    partition.log.truncate_to(0, NOW_MS)


@pytest.mark.parametrize(
    ("meanwhile", "expected"),
    [
        (abort, ErrorCode.NOT_ENOUGH_REPLICAS),
        (lose_and_abort, ErrorCode.NOT_ENOUGH_REPLICAS),
        (abort_another, ErrorCode.NONE),
        (lambda _: None, ErrorCode.NONE),
    ],
)
def test_a_verified_batch_is_refused_if_its_transaction_ended_meanwhile(
    tmp_path: Path, meanwhile: Callable[[Partition], None], expected: int
) -> None:
    async def story() -> tuple[int, int]:
        leader = Leader(tmp_path, meanwhile)
        code = await leader.produce()
        return code, leader.partition.last_stable_offset - leader.partition.high_watermark

    code, open_bytes = asyncio.run(story())
    assert code == expected
    # What was refused has left no transaction open; what was not has.
    assert (open_bytes == 0) == (expected != ErrorCode.NONE)


@pytest.mark.parametrize("adds", [True, False])
def test_a_verified_commit_of_offsets_is_refused_if_its_transaction_ended_meanwhile(
    tmp_path: Path, adds: bool
) -> None:
    async def story(meanwhile: Callable[[Partition], None]) -> ApiError | None:
        return await Leader(tmp_path / meanwhile.__name__, meanwhile).enter(adds=adds)

    refused = asyncio.run(story(abort))
    assert refused is not None
    assert refused.code == ErrorCode.NOT_COORDINATOR
    assert asyncio.run(story(abort_another)) is None


def test_a_guard_is_forgotten_with_the_writes_that_hold_it(tmp_path: Path) -> None:
    async def story() -> int:
        leader = Leader(tmp_path, lambda _: None)
        for _ in range(3):
            await leader.enter(adds=True)
        return len(leader.log.producers._guards._held)  # type: ignore[union-attr]  # there is one by now

    assert asyncio.run(story()) == 0


@pytest.mark.parametrize("version", [ADDS_ITSELF, ADDS_ITSELF + 1])
def test_a_producer_with_a_transactional_id_cannot_write_outside_of_its_transaction(
    tmp_path: Path, version: int
) -> None:
    async def story() -> tuple[int, int]:
        leader = Leader(tmp_path, lambda _: None)
        return await leader.produce(version, transactional=False), leader.log.end_offset

    assert asyncio.run(story()) == (ErrorCode.INVALID_TXN_STATE, 0)
