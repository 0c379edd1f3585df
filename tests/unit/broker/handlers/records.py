"""Short words for tests that write and read records: batches, Produce and Fetch requests, and what came back."""

import struct
import uuid
from collections.abc import Mapping
from typing import Any

from ottla.protocol.apis.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.apis.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.records.batch import crc_of, iter_headers
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record, read_records
from ottla.protocol.schema import Request
from tests.unit.broker.handlers.asking import NOW_MS, Client

FIRST_PRODUCE_BY_ID = FIRST_FETCH_BY_ID = 13
LONG_MS = 15_000


def batch(
    *values: bytes, key: bytes | None = b"k", timestamp: int = NOW_MS, **options: Any
) -> bytearray:
    """A batch with a record for each value."""
    return build_batch([Record(0, timestamp, key, value, ()) for value in values], **options)


def idempotent(producer_id: int, sequence: int, *values: bytes, epoch: int = 0) -> bytearray:
    """A batch of an idempotent producer."""
    return batch(
        *values or (b"v",), producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )


def with_bytes(records: bytes, position: int, data: bytes) -> bytearray:
    """The batch with other bytes at a position, and a CRC that knows of it."""
    changed = bytearray(records)
    changed[position : position + len(data)] = data
    changed[17:21] = struct.pack(">I", crc_of(changed, 0, len(changed)))
    return changed


def topic_id(client: Client, name: str) -> uuid.UUID:
    """The id of a topic."""
    named = [MetadataRequestTopic(name=name)]
    [topic] = client.ask(MetadataRequest(topics=named, allow_auto_topic_creation=False)).topics
    return topic.topic_id


def produce_request(
    topics: Mapping[str | uuid.UUID, Mapping[int, bytes | None]],
    acks: int = -1,
    timeout_ms: int = 10_000,
) -> ProduceRequest:
    """A request with a batch for each partition of each topic."""
    data = []
    for topic, partitions in topics.items():
        named = {"topic_id": topic} if isinstance(topic, uuid.UUID) else {"name": topic}
        parts = [PartitionProduceData(index=n, records=r) for n, r in partitions.items()]
        data.append(TopicProduceData(partition_data=parts, **named))
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=data)


def produce(
    client: Client,
    topic: str | uuid.UUID,
    records: bytes | None,
    *,
    acks: int = -1,
    version: int = 12,
    partition: int = 0,
) -> PartitionProduceResponse:
    """What became of one batch."""
    request = produce_request({topic: {partition: records}}, acks)
    [answered] = client.ask(request, version).responses
    [result] = answered.partition_responses
    assert result.index == partition
    return result


def fetch_request(
    topics: Mapping[str | uuid.UUID, Mapping[int, int | Mapping[str, int]]],
    forgotten: Mapping[str | uuid.UUID, list[int]] | None = None,
    **options: int,
) -> FetchRequest:
    """A request for partitions from offsets on; a mapping in place of an offset names more fields."""
    wanted = []
    for topic, partitions in topics.items():
        fields = {
            n: o if isinstance(o, Mapping) else {"fetch_offset": o} for n, o in partitions.items()
        }
        parts = [
            FetchPartition(**{"partition": n, "partition_max_bytes": 1 << 20, **given})
            for n, given in fields.items()
        ]
        wanted.append(FetchTopic(partitions=parts, **_named(topic)))
    gone = [ForgottenTopic(partitions=parts, **_named(t)) for t, parts in (forgotten or {}).items()]
    limits = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 25, **options}
    return FetchRequest(topics=wanted, forgotten_topics_data=gone, **limits)


def _named(topic: str | uuid.UUID) -> dict[str, Any]:
    return {"topic_id": topic} if isinstance(topic, uuid.UUID) else {"topic": topic}


def fetch(
    client: Client,
    topic: str | uuid.UUID,
    offset: int | Mapping[str, int] = 0,
    *,
    version: int = 12,
    partition: int = 0,
    **options: int,
) -> PartitionData:
    """What came of one partition, without a session."""
    request = fetch_request({topic: {partition: offset}}, **options)
    [answered] = client.ask(request, version).responses
    [found] = answered.partitions
    assert found.partition_index == partition
    return found


def values(records: Any) -> list[bytes]:
    """The values of all records in a run of whole batches, each of which has the CRC it claims."""
    found = []
    for pos, header in iter_headers(records or b""):
        assert crc_of(records, pos, header.size_bytes) == header.crc
        found += [record.value for record in read_records(records, pos)]
    return found


def by_partition(topics: list[FetchableTopicResponse]) -> dict[int, PartitionData]:
    """The partitions of a reply about one topic."""
    assert len(topics) <= 1
    return {part.partition_index: part for topic in topics for part in topic.partitions}


def send(client: Client, *requests: tuple[Request, int]) -> None:
    """Send requests in one write, numbered from 0."""
    frames = [encode_request(r, version, n, "test") for n, (r, version) in enumerate(requests)]
    client.send(b"".join(frames))


def receive(client: Client, request: Request, version: int, number: int) -> Any:
    """The answer to a request that was sent earlier."""
    correlation_id, response = decode_response(request.api_key, version, client.receive())
    assert correlation_id == number
    return response
