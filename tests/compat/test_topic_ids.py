"""Requests that name topics by id, and fetch sessions that remember them (KIP-516, KIP-227)."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from kafka.protocol.admin import DeleteTopicsRequest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest

from tests.support.clients import create_topic
from tests.support.wire import Wire, batch, fetched, produce_request, produced, values_of

pytestmark = pytest.mark.compat

UNKNOWN_TOPIC_OR_PARTITION = 3
UNKNOWN_TOPIC_ID = 100
FETCH_SESSION_ID_NOT_FOUND = 70
INVALID_FETCH_SESSION_EPOCH = 71


def id_of(wire: Wire, topic: str) -> UUID:
    asked = MetadataRequest.MetadataRequestTopic(name=topic)
    answer = wire.ask(MetadataRequest[12](topics=[asked], allow_auto_topic_creation=False))
    return answer.topics[0].topic_id


def produce_by_id(wire: Wire, topic_id: UUID, *values: bytes) -> Any:
    topics = ProduceRequest.TopicProduceData
    data = topics.PartitionProduceData(index=0, records=batch(*values))
    topic = topics(topic_id=topic_id, partition_data=[data])
    request = ProduceRequest[13](transactional_id=None, acks=1, timeout_ms=5000, topic_data=[topic])
    return produced(wire.ask(request))


def fetch(
    wire: Wire,
    wanted: dict[UUID, int],
    session: tuple[int, int] = (0, -1),
    forget: list[UUID] | None = None,
    max_wait_ms: int = 100,
) -> Any:
    """Fetch partition 0 of each topic from its offset, by id, in the given session and epoch."""
    topics = [
        FetchRequest.FetchTopic(
            topic_id=topic_id,
            partitions=[
                FetchRequest.FetchTopic.FetchPartition(
                    partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
                )
            ],
        )
        for topic_id, offset in wanted.items()
    ]
    forgotten = [FetchRequest.ForgottenTopic(topic_id=t, partitions=[0]) for t in forget or []]
    request = FetchRequest[13](
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics,
        forgotten_topics_data=forgotten,
    )
    return wire.ask(request)


def test_records_are_produced_and_fetched_by_id(wire: Wire, topic: str) -> None:
    topic_id = id_of(wire, topic)
    assert produce_by_id(wire, topic_id, b"a", b"b").base_offset == 0
    answer = fetch(wire, {topic_id: 0})
    assert answer.responses[0].topic_id == topic_id
    assert values_of(fetched(answer).records) == [b"a", b"b"]


def test_an_unknown_id_is_said_to_be_unknown(wire: Wire) -> None:
    stranger = uuid4()
    assert produce_by_id(wire, stranger, b"v").error_code == UNKNOWN_TOPIC_ID
    assert fetched(fetch(wire, {stranger: 0})).error_code == UNKNOWN_TOPIC_ID
    asked = MetadataRequest.MetadataRequestTopic(topic_id=stranger, name=None)
    [found] = wire.ask(MetadataRequest[12](topics=[asked])).topics
    assert found.error_code == UNKNOWN_TOPIC_ID


def test_metadata_finds_a_topic_by_its_id(wire: Wire, topic: str) -> None:
    asked = MetadataRequest.MetadataRequestTopic(topic_id=id_of(wire, topic), name=None)
    [found] = wire.ask(MetadataRequest[12](topics=[asked])).topics
    assert (found.error_code, found.name) == (0, topic)


def test_a_topic_is_deleted_by_its_id(wire: Wire, topic: str) -> None:
    topic_id = id_of(wire, topic)
    state = DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=topic_id)
    [deleted] = wire.ask(DeleteTopicsRequest[6](topics=[state], timeout_ms=10_000)).responses
    assert (deleted.error_code, deleted.name) == (0, topic)
    [again] = wire.ask(DeleteTopicsRequest[6](topics=[state], timeout_ms=10_000)).responses
    assert again.error_code == UNKNOWN_TOPIC_ID


def test_a_session_answers_only_with_what_changed(wire: Wire, bootstrap: str) -> None:
    one, other = (create_topic(bootstrap) for _ in range(2))
    ids = {name: id_of(wire, name) for name in (one, other)}
    full = fetch(wire, {ids[one]: 0, ids[other]: 0}, (0, 0))
    assert full.session_id > 0
    assert len(full.responses) == 2
    session = full.session_id

    assert fetch(wire, {}, (session, 1)).responses == []
    produce_by_id(wire, ids[other], b"news")
    answer = fetch(wire, {}, (session, 2))
    assert [topic.topic_id for topic in answer.responses] == [ids[other]]
    assert values_of(fetched(answer).records) == [b"news"]

    answer = fetch(wire, {ids[other]: 1}, (session, 3))
    assert [values_of(p.records) for t in answer.responses for p in t.partitions] in ([], [[]])
    produce_by_id(wire, ids[other], b"unheard")
    assert fetch(wire, {}, (session, 4), forget=[ids[other]]).responses == []
    fetch(wire, {}, (session, -1))


def test_an_idle_session_waits_as_long_as_asked(wire: Wire, topic: str) -> None:
    topic_id = id_of(wire, topic)
    session = fetch(wire, {topic_id: 0}, (0, 0)).session_id
    wire.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        fetch(wire, {}, (session, 1), max_wait_ms=2000)


def test_a_session_is_refused_when_it_is_unknown_or_out_of_step(wire: Wire, topic: str) -> None:
    topic_id = id_of(wire, topic)
    assert fetch(wire, {topic_id: 0}, (123_456_789, 1)).error_code == FETCH_SESSION_ID_NOT_FOUND
    session = fetch(wire, {topic_id: 0}, (0, 0)).session_id
    assert fetch(wire, {}, (session, 5)).error_code == INVALID_FETCH_SESSION_EPOCH
    assert fetch(wire, {}, (session, 1)).error_code == 0


def test_a_new_topic_of_the_same_name_is_not_the_old_one(wire: Wire, topic: str) -> None:
    old_id = id_of(wire, topic)
    state = DeleteTopicsRequest.DeleteTopicState(name=topic)
    wire.ask(DeleteTopicsRequest[6](topics=[state], timeout_ms=10_000))
    assert produce_by_id(wire, old_id, b"late").error_code == UNKNOWN_TOPIC_ID
    answer = produced(wire.ask(produce_request(topic, batch(b"late"))))
    assert answer.error_code == UNKNOWN_TOPIC_OR_PARTITION
