"""A client for tests of the handlers: typed requests in any version, to a real broker."""

import socket
import struct
import time
import uuid
from typing import Any

from ottla.protocol.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.protocol.schema import Request
from tests.support.waiting import wait_for

TIMEOUT_S = 20.0
NOW_MS = int(time.time() * 1000)


class Client:
    """One connection."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self._stream = self._socket.makefile("rb")
        self._correlation_id = 0

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def ask(self, request: Request, version: int | None = None) -> Any:
        """The response to a request, in the newest version unless another is given."""
        version = request.api_key.last_version if version is None else version
        self._correlation_id += 1
        self.send(encode_request(request, version, self._correlation_id, "test"))
        correlation_id, response = decode_response(request.api_key, version, self.receive())
        assert correlation_id == self._correlation_id
        return response

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """The next frame without its length; EOFError when the broker hangs up."""
        size = self._stream.read(4)
        if len(size) < 4:
            raise EOFError("the broker closed the connection")
        return self._stream.read(struct.unpack(">i", size)[0])

    def new_topic(self, partitions: int = 1, **configs: object) -> str:
        """Make a topic, with settings whose dots are written as underscores."""
        name = f"topic-{uuid.uuid4().hex[:12]}"
        asked = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
                for key, value in configs.items()
            ],
        )
        [result] = self.ask(CreateTopicsRequest(topics=[asked])).topics
        assert result.error_code == 0, result
        # Apache Kafka, at which these tests may be pointed, makes a topic a little after it says so.
        wait_for(lambda: self.is_led(name, partitions), f"{name} to be led")
        return name

    def is_led(self, name: str, partitions: int) -> bool:
        """Whether the topic has just that many partitions, and all can be written to."""
        named = [MetadataRequestTopic(name=name)]
        [topic] = self.ask(MetadataRequest(topics=named, allow_auto_topic_creation=False)).topics
        ends = [ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(partitions)]
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=ends)]
        )
        answers = self.ask(request).topics[0].partitions
        return len(topic.partitions) == partitions and not any(a.error_code for a in answers)

    def new_producer_id(self) -> int:
        """The id of a new idempotent producer; Apache Kafka takes a while to have the first one."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = wait_for(
            lambda: [a for a in [self.ask(request)] if a.error_code == 0], "a producer id"
        )
        return int(answer[0].producer_id)

    def produce(self, topic: str, *timestamps_ms: int, partition: int = 0, **batch: Any) -> int:
        """Append one batch with a record for each timestamp; its base offset."""
        records = [Record(0, when, b"k", b"v", ()) for when in timestamps_ms or (NOW_MS,)]
        data = PartitionProduceData(index=partition, records=build_batch(records, **batch))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )
        [answer] = self.ask(request, 9).responses
        [appended] = answer.partition_responses
        assert appended.error_code == 0, appended
        return int(appended.base_offset)
