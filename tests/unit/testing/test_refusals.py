"""Every API can be refused, in every version that is served, for each thing that a request names."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from ottla.broker.apis import ADVERTISED, Api
from ottla.protocol.apis.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.codec import decode_response, encode_response, request_class
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Field, Struct
from ottla.testing.refusals import refuse

REFUSED = ErrorCode.REQUEST_TIMED_OUT
SAMPLES: dict[str, Any] = {
    "string": "thing",
    "boolean": True,
    "uuid": UUID(int=7),
    "blob": b"",
    "records": b"",
}
LENGTH_BYTES = 4


def sample(field: Field) -> Any:
    if field.kind == "array":
        return [sample_struct(field.struct) if field.struct else SAMPLES.get(field.element, 7)]
    if field.struct is not None:
        return sample_struct(field.struct)
    return SAMPLES.get(field.kind, 7)


def sample_struct(kind: type[Struct]) -> Any:
    """Everything that can be named is named once."""
    return kind(**{field.name: sample(field) for field in kind.fields})


def errors_in(struct: Any) -> Iterator[int]:
    for field in struct.fields:
        value = getattr(struct, field.name)
        if field.name in ("error_code", "partition_error_code"):
            yield value
        for item in value if isinstance(value, list) else []:
            if isinstance(item, Struct):
                yield from errors_in(item)


@pytest.mark.parametrize("api", ADVERTISED, ids=lambda api: api.name)
def test_every_api_can_be_refused(api: Api) -> None:
    for version in range(api.min_version, api.max_version + 1):
        request = sample_struct(request_class(api.key))
        if isinstance(request, FetchRequest):
            request.session_epoch = 0
        frame = encode_response(refuse(request, version, REFUSED), version, 1)
        _, answer = decode_response(api.key, version, frame[LENGTH_BYTES:])
        assert REFUSED in set(errors_in(answer)), f"v{version}: {answer}"


def test_a_refused_produce_names_every_partition() -> None:
    partitions = [PartitionProduceData(index=index, records=b"") for index in (0, 3)]
    asked = [TopicProduceData(name="orders", partition_data=partitions)]
    answer = refuse(ProduceRequest(acks=-1, topic_data=asked), 9, REFUSED)
    [topic] = answer.responses
    assert topic.name == "orders"
    told = [(each.index, each.error_code) for each in topic.partition_responses]
    assert told == [(0, REFUSED), (3, REFUSED)]


def a_fetch(session_epoch: int) -> FetchRequest:
    partitions = [FetchPartition(partition=2, fetch_offset=5)]
    topics = [FetchTopic(topic="orders", partitions=partitions)]
    return FetchRequest(session_epoch=session_epoch, topics=topics)


def test_a_fetch_is_refused_for_its_partitions() -> None:
    answer = refuse(a_fetch(session_epoch=-1), 12, REFUSED)
    [partition] = answer.responses[0].partitions
    assert (partition.partition_index, partition.error_code) == (2, REFUSED)
    assert answer.error_code == 0


def test_a_fetch_within_a_session_is_refused_as_a_whole() -> None:
    answer = refuse(a_fetch(session_epoch=3), 12, REFUSED)
    assert answer.responses == []
    assert answer.error_code == REFUSED
