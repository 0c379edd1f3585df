"""One transactional producer over bare connections: requests encoded beforehand, and patched where they change."""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
import uuid
from typing import Any, Final

from benchmarks.clients.connection import BrokerRefused, connect
from benchmarks.clients.coordinator import (
    TRANSACTION,
    connect_to_coordinator,
    initialize_producer,
)
from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.payloads import sample_values
from benchmarks.topics import leaders
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from ottla.protocol.apis.end_txn import EndTxnRequest
from ottla.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.codec import encode_request
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import patch_producer
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.protocol.schema import Request

REPLY_BYTES = 4096
WARM_UP = 20
BETWEEN_CLOCK_READS = 16
TIMEOUT_MS = 60_000

ADD_VERSION: Final = 3
"""The last that clients send: with version 2 of transactions, partitions are added as they are written to."""
PRODUCE_VERSIONS: Final = {1: 11, 2: 12}
END_VERSIONS: Final = {1: 4, 2: 5}
"""By version of transactions."""

NO_ERROR: Final = b"\0\0"
CONCURRENT: Final = struct.pack(">h", ErrorCode.CONCURRENT_TRANSACTIONS)
NEXT_PRODUCER: Final = struct.Struct(">qh")
# length, correlation id, tagged fields
HEADER_BYTES: Final = 4 + 4 + 1
# and the time to wait
END_ERROR_AT: Final = HEADER_BYTES + 4
# from the end of the request: producer, outcome, tagged fields
PRODUCER_IN_END_AT: Final = -(NEXT_PRODUCER.size + 1 + 1)


def exchange(connection: socket.socket, frame: bytes | bytearray, error_at: int) -> bytes:
    """The answer that is not an error; whoever comes too early, before the last transaction is complete, asks again.

    At once: real clients wait for 20 ms or more, and with one of them that would be all there is to measure.
    """
    while True:
        connection.send(frame)
        reply = connection.recv(REPLY_BYTES)
        error = reply[error_at : error_at + 2]
        if error == NO_ERROR:
            return reply
        if error != CONCURRENT:
            name = ErrorCode(int.from_bytes(error)).name
            raise BrokerRefused(f"the broker answered a request of a transaction with {name}")


class EncodedProducer:
    """Says what a real producer says."""

    def __init__(self, bootstrap: str, topic: str, value_size: int) -> None:
        self.transactional_id = f"bench-{uuid.uuid4()}"
        self._topic = topic
        self._coordinator = connect_to_coordinator(bootstrap, self.transactional_id, TRANSACTION)
        self._leader = connect(leaders(bootstrap, topic, 1)[0])
        self._producer_id, self._epoch = initialize_producer(
            self._coordinator, self.transactional_id
        )
        [value] = sample_values(1, value_size)
        self._batch = build_batch(
            [Record(timestamp=time.time_ns() // 1_000_000, value=value)], transactional=True
        )
        for connection in (self._coordinator, self._leader):
            connection.settimeout(None)  # else it is asked first whether it would block

    def close(self) -> None:
        """Hang up."""
        self._coordinator.close()
        self._leader.close()

    def _produce_frame(self, version: int) -> tuple[bytearray, int]:
        """The request, and where the batch is in it."""
        written = PartitionProduceData(index=0, records=memoryview(self._batch))
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=TIMEOUT_MS,
            topic_data=[TopicProduceData(name=self._topic, partition_data=[written])],
        )
        frame = _encoded(request, PRODUCE_VERSIONS[version])
        return frame, frame.index(self._batch)

    def _add_frame(self) -> bytearray:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self._topic, partitions=[0])],
        )
        return _encoded(request, ADD_VERSION)

    def _end_frame(self, version: int) -> bytearray:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=True,
        )
        return _encoded(request, END_VERSIONS[version])


class FirstVersion(EncodedProducer):
    """Announces the partition, writes, commits; sequences go on through all transactions."""

    def __init__(self, bootstrap: str, topic: str, value_size: int) -> None:
        super().__init__(bootstrap, topic, value_size)
        self._sequence = 0
        self._add, self._end = self._add_frame(), self._end_frame(1)
        self._produce, self._batch_at = self._produce_frame(1)
        # time to wait, topics, name, partitions, index
        self._add_error_at = HEADER_BYTES + 4 + 1 + 1 + len(topic) + 1 + 4
        self._produce_error_at = HEADER_BYTES + 1 + 1 + len(topic) + 1 + 4

    def commit_one(self) -> None:
        """One transaction of one record."""
        exchange(self._coordinator, self._add, self._add_error_at)
        patch_producer(
            self._produce,
            self._batch_at,
            len(self._batch),
            self._producer_id,
            self._epoch,
            self._sequence,
        )
        self._sequence += 1
        exchange(self._leader, self._produce, self._produce_error_at)
        exchange(self._coordinator, self._end, END_ERROR_AT)


class SecondVersion(EncodedProducer):
    """Writes and commits; every end brings the epoch of the next transaction, whose sequences begin anew (KIP-890)."""

    def __init__(self, bootstrap: str, topic: str, value_size: int) -> None:
        super().__init__(bootstrap, topic, value_size)
        self._end = self._end_frame(2)
        self._produce, self._batch_at = self._produce_frame(2)
        self._produce_error_at = HEADER_BYTES + 1 + 1 + len(topic) + 1 + 4
        self._go_on_as(self._producer_id, self._epoch)

    def commit_one(self) -> None:
        """One transaction of one record."""
        exchange(self._leader, self._produce, self._produce_error_at)
        ended = exchange(self._coordinator, self._end, END_ERROR_AT)
        self._go_on_as(*NEXT_PRODUCER.unpack_from(ended, END_ERROR_AT + 2))

    def _go_on_as(self, producer_id: int, epoch: int) -> None:
        patch_producer(self._produce, self._batch_at, len(self._batch), producer_id, epoch, 0)
        end = self._end
        NEXT_PRODUCER.pack_into(end, len(end) + PRODUCER_IN_END_AT, producer_id, epoch)


PRODUCERS: dict[int, type[FirstVersion | SecondVersion]] = {1: FirstVersion, 2: SecondVersion}


def _encoded(request: Request, version: int) -> bytearray:
    return bytearray(encode_request(request, version, 1, "bench"))


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Commits some transactions that do not count, then counts for some seconds."""
    make = PRODUCERS[int(spec["version"])]
    producer = make(spec["bootstrap"], spec["topic"], int(spec["value_size"]))
    for _ in range(WARM_UP):
        producer.commit_one()
    done = 0
    with Stopwatch() as watch:
        deadline = time.perf_counter() + spec["seconds"]
        while time.perf_counter() < deadline:
            for _ in range(BETWEEN_CLOCK_READS):
                producer.commit_one()
            done += BETWEEN_CLOCK_READS
    producer.close()
    return {
        "transactions": done,
        "acknowledged": WARM_UP + done,
        "seconds": watch.seconds,
        "busy": watch.busy,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
