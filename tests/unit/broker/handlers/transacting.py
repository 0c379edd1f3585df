"""A transactional producer for tests of the handlers, in any version of the protocol."""

import uuid
from typing import Any

from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from ottla.protocol.apis.describe_transactions import DescribeTransactionsRequest, TransactionState
from ottla.protocol.apis.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import batch, fetch, values

READ_COMMITTED = 1
TRANSACTION = 1
# Kafka answers these while the coordinator loads, or writes the markers of the last transaction.
PASSING = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
}


class Transactor:
    """A producer with a transactional id; `produce` and `end` choose the transaction version."""

    def __init__(
        self,
        client: Client,
        transactional_id: str = "",
        *,
        produce: int = 12,
        end: int = 5,
        timeout_ms: int = 60_000,
    ) -> None:
        self.client = client
        self.id = transactional_id or f"tx-{uuid.uuid4().hex[:12]}"
        self.produce_version, self.end_version = produce, end
        self.timeout_ms = timeout_ms
        self.sequences: dict[tuple[str, int], int] = {}
        find = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[self.id])
        wait_for(lambda: not client.ask(find, 4).coordinators[0].error_code, "a coordinator", 30)
        answer = self.init()
        assert answer.error_code == 0, answer
        self.take(answer)

    def take(self, answer: InitProducerIdResponse | EndTxnResponse) -> None:
        """Go on with the producer that an answer grants."""
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences = {}

    def ask(self, request: Request, version: int) -> Any:
        """The answer that stays: what passes is waited out."""
        return wait_for(
            lambda: [a for a in [self.client.ask(request, version)] if a.error_code not in PASSING],
            "the coordinator to settle",
            30,
        )[0]

    def init(self, version: int = 5, **claim: int) -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id=self.id, transaction_timeout_ms=self.timeout_ms, **claim
        )
        return self.ask(request, version)

    def add(self, topic: str, *partitions: int, version: int = 3, **who: int) -> set[int]:
        """AddPartitionsToTxn as clients send it; all error codes there were."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=who.get("producer_id", self.producer_id),
            v3_and_below_producer_epoch=who.get("epoch", self.epoch),
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=list(partitions or (0,)))
            ],
        )

        def codes() -> set[int]:
            answer = self.client.ask(request, version).results_by_topic_v3_and_below
            return {
                each.partition_error_code for row in answer for each in row.results_by_partition
            }

        return wait_for(
            lambda: [found for found in [codes()] if not found & PASSING], "partitions to be added"
        )[0]

    def send(
        self,
        topic: str,
        *payload: bytes,
        partition: int = 0,
        version: int | None = None,
        **who: Any,
    ) -> int:
        """Produce one batch of the transaction; the error code."""
        sequence = who.get("sequence", self.sequences.get((topic, partition), 0))
        records = batch(
            *payload or (b"v",),
            producer_id=who.get("producer_id", self.producer_id),
            producer_epoch=who.get("epoch", self.epoch),
            base_sequence=sequence,
            transactional=True,
        )
        if who.get("damaged"):
            records = records[:-1] + bytes([records[-1] ^ 1])
        request = ProduceRequest(
            transactional_id=who.get("transactional_id", self.id),
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    partition_data=[PartitionProduceData(index=partition, records=records)],
                )
            ],
        )
        version = self.produce_version if version is None else version

        def code() -> int:
            [answered] = self.client.ask(request, version).responses
            return int(answered.partition_responses[0].error_code)

        [error] = wait_for(lambda: [c for c in [code()] if c not in PASSING], "the produce")
        if not error:
            self.sequences[topic, partition] = sequence + len(payload or (b"v",))
        return int(error)

    def end(self, committed: bool, version: int | None = None, **who: int) -> EndTxnResponse:
        version = self.end_version if version is None else version
        request = EndTxnRequest(
            transactional_id=self.id,
            producer_id=who.get("producer_id", self.producer_id),
            producer_epoch=who.get("epoch", self.epoch),
            committed=committed,
        )
        return self.ask(request, version)

    def finish(self, committed: bool) -> None:
        """End the transaction, which must work, and go on as the answer says."""
        answer = self.end(committed)
        assert answer.error_code == 0, answer
        if self.end_version >= 5:
            self.take(answer)
        wait_for(lambda: self.describe().transaction_state.startswith("Complete"), "markers")

    def describe(self) -> TransactionState:
        request = DescribeTransactionsRequest(transactional_ids=[self.id])
        [state] = self.client.ask(request, 0).transaction_states
        return state


def committed(client: Client, topic: str, partition: int = 0) -> list[bytes]:
    """What a read_committed consumer makes of the partition."""
    found = fetch(client, topic, partition=partition, isolation_level=READ_COMMITTED, max_wait_ms=0)
    assert found.error_code == 0
    return [value for value, visible in _visible(found) if visible]


def _visible(found: Any) -> list[tuple[bytes, bool]]:
    """Every record before the last stable offset, and whether its transaction counts."""
    from ottla.protocol.records.batch import iter_headers
    from ottla.protocol.records.control import read_end_transaction_marker

    aborted = [(a.first_offset, a.producer_id) for a in found.aborted_transactions or []]
    assert aborted == sorted(aborted)
    skipped: set[int] = set()
    result: list[tuple[bytes, bool]] = []
    records = found.records or b""
    for pos, header in iter_headers(records):
        while aborted and aborted[0][0] <= header.last_offset:
            skipped.add(aborted.pop(0)[1])
        if header.is_control:
            read_end_transaction_marker(records, pos)
            skipped.discard(header.producer_id)
            continue
        hidden = header.is_transactional and header.producer_id in skipped
        inside = values(memoryview(records)[pos : pos + header.size_bytes])
        result += [(value, not hidden) for value in inside]
    return result
