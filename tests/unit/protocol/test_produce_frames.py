"""The hand-written Produce frames say what the tables say."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.apis import produce as table
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.header import parse_request_header
from ottla.protocol.produce_frames import (
    PartitionResult,
    ProduceRequest,
    encode_one_success,
    encode_produce_response,
    parse_produce,
)

VERSIONS = st.integers(3, 13)
NAMES = st.text("abcdefgh._-", min_size=1, max_size=200)


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, table.ProduceRequest]:
    version = draw(VERSIONS)
    topics = []
    for name in draw(st.lists(NAMES, max_size=3)):
        parts = [
            table.PartitionProduceData(
                index=draw(st.integers(0, 2**31 - 1)), records=draw(st.binary(max_size=300))
            )
            for _ in range(draw(st.integers(0, 3)))
        ]
        topic = table.TopicProduceData(partition_data=parts)
        if version >= 13:
            topic.topic_id = draw(st.uuids())
        else:
            topic.name = name
        topics.append(topic)
    return version, table.ProduceRequest(
        transactional_id=draw(st.none() | NAMES),
        acks=draw(st.integers(-1, 1)),
        timeout_ms=draw(st.integers(0, 2**31 - 1)),
        topic_data=topics,
    )


def parse(frame: bytes, version: int) -> ProduceRequest:
    view = memoryview(frame)[4:]
    return parse_produce(view, parse_request_header(view, 0, len(view)).body_pos, version)


@given(requests())
def test_a_request_is_read_as_it_was_written(versioned: tuple[int, table.ProduceRequest]) -> None:
    version, request = versioned
    found = parse(encode_request(request, version, 1, "me"), version)
    assert (found.transactional_id, found.acks, found.timeout_ms) == (
        request.transactional_id, request.acks, request.timeout_ms,
    )  # fmt: skip
    expected = [
        (
            t.topic_id.bytes if version >= 13 else t.name,
            [(p.index, p.records) for p in t.partition_data],
        )
        for t in request.topic_data
    ]
    assert [
        (t, [(index, bytes(records)) for index, records in parts]) for t, parts in found.topics
    ] == expected


@given(requests(), st.data())
def test_a_torn_or_damaged_request_is_refused_and_nothing_else(
    versioned: tuple[int, table.ProduceRequest], data: st.DataObject
) -> None:
    version, request = versioned
    frame = bytearray(encode_request(request, version, 1, None))
    body = parse_request_header(memoryview(frame)[4:], 0, len(frame) - 4).body_pos
    at = data.draw(st.integers(4 + body, len(frame) - 1))
    frame[at] = data.draw(st.integers(0, 255))
    cut = frame[: data.draw(st.integers(4 + body, len(frame)))]
    try:
        parse(bytes(cut), version)
    except ProtocolError:
        return


OFFSETS = {
    "partition": st.integers(0, 1000),
    "base_offset": st.integers(-1, 2**62),
    "log_append_time_ms": st.integers(-1, 2**62),
    "log_start_offset": st.integers(-1, 2**62),
}
SUCCESSES = st.fixed_dictionaries(OFFSETS).map(lambda offsets: PartitionResult(**offsets))
FAILURES = st.builds(
    PartitionResult,
    **OFFSETS,
    error=st.integers(1, 100),
    record_errors=st.lists(st.tuples(st.integers(0, 99), st.none() | NAMES), max_size=2).map(tuple),
    error_message=st.none() | NAMES,
    current_leader=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
RESULTS = SUCCESSES | FAILURES


@given(VERSIONS, st.lists(st.tuples(NAMES, st.lists(RESULTS, max_size=3)), max_size=3))
def test_a_response_reads_as_the_tables_would_have_it(
    version: int, topics: list[tuple[str, list[PartitionResult]]]
) -> None:
    named: list[tuple[str | bytes, list[PartitionResult]]] = [
        (uuid.uuid5(uuid.NAMESPACE_DNS, name).bytes if version >= 13 else name, results)
        for name, results in topics
    ]
    correlation_id, response = decode_response(
        0, version, encode_produce_response(7, version, named)[4:]
    )
    assert correlation_id == 7
    assert isinstance(response, table.ProduceResponse)
    for (topic, results), told in zip(named, response.responses, strict=True):
        assert topic == (told.topic_id.bytes if version >= 13 else told.name)
        for result, part in zip(results, told.partition_responses, strict=True):
            assert (part.index, part.error_code, part.base_offset) == result[:3]
            assert part.log_append_time_ms == result.log_append_time_ms
            if version >= 8:
                assert tuple(
                    (e.batch_index, e.batch_index_error_message) for e in part.record_errors
                ) == (result.record_errors)
                assert part.error_message == result.error_message
            if version >= 10 and result.current_leader is not None:
                assert (
                    part.current_leader.leader_id,
                    part.current_leader.leader_epoch,
                ) == result.current_leader


def test_records_that_claim_more_than_the_frame_holds_are_refused() -> None:
    frame = encode_request(
        table.ProduceRequest(
            acks=1,
            topic_data=[
                table.TopicProduceData(
                    name="t",
                    partition_data=[table.PartitionProduceData(index=0, records=b"x" * 10)],
                )
            ],
        ),
        7,
        1,
        None,
    )
    frame[-14:-10] = (2**31 - 1).to_bytes(4, "big")
    with pytest.raises(ProtocolError, match="do not fit"):
        parse(bytes(frame), 7)


@given(st.integers(5, 13), NAMES, SUCCESSES)
def test_a_single_success_is_answered_like_any_other(
    version: int, name: str, result: PartitionResult
) -> None:
    topic = uuid.uuid5(uuid.NAMESPACE_DNS, name).bytes if version >= 13 else name
    usual = encode_produce_response(7, version, [(topic, [result])])
    assert encode_one_success(7, version, topic, result[:5]) == usual
