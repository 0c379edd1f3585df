"""The hand-written Fetch frames say what the tables say."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.apis import fetch as table
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.fetch_frames import (
    FetchRequest,
    PartitionData,
    encode_fetch_response,
    parse_fetch,
)
from ottla.protocol.header import parse_request_header

VERSIONS = st.integers(4, 18)
NAMES = st.text("abcdefgh._-", min_size=1, max_size=200)
INT32 = st.integers(-1, 2**31 - 1)
INT64 = st.integers(-1, 2**62)


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, table.FetchRequest]:
    version = draw(VERSIONS)
    topics = []
    for name in draw(st.lists(NAMES, max_size=3)):
        parts = [
            table.FetchPartition(
                partition=draw(INT32),
                current_leader_epoch=draw(INT32) if version >= 9 else -1,
                fetch_offset=draw(INT64),
                last_fetched_epoch=draw(INT32) if version >= 12 else -1,
                log_start_offset=draw(INT64) if version >= 5 else -1,
                partition_max_bytes=draw(INT32),
            )
            for _ in range(draw(st.integers(0, 3)))
        ]
        topic = table.FetchTopic(partitions=parts)
        if version >= 13:
            topic.topic_id = draw(st.uuids())
        else:
            topic.topic = name
        topics.append(topic)
    request = table.FetchRequest(
        max_wait_ms=draw(INT32), min_bytes=draw(INT32), max_bytes=draw(INT32), topics=topics
    )
    request.isolation_level = draw(st.integers(0, 1))
    if version >= 7:
        request.session_id, request.session_epoch = draw(INT32), draw(INT32)
        forgotten = table.ForgottenTopic(partitions=draw(st.lists(INT32, max_size=3)))
        if version >= 13:
            forgotten.topic_id = draw(st.uuids())
        else:
            forgotten.topic = draw(NAMES)
        request.forgotten_topics_data = [forgotten]
    if version >= 11:
        request.rack_id = draw(NAMES)
    if version >= 15:
        request.replica_state = table.ReplicaState(
            replica_id=draw(INT32), replica_epoch=draw(INT64)
        )
    else:
        request.replica_id = draw(INT32)
    return version, request


def parse(frame: bytes, version: int) -> FetchRequest:
    view = memoryview(frame)[4:]
    return parse_fetch(view, parse_request_header(view, 0, len(view)).body_pos, version)


@given(requests())
def test_a_request_is_read_as_it_was_written(versioned: tuple[int, table.FetchRequest]) -> None:
    version, request = versioned
    found = parse(encode_request(request, version, 1, "me"), version)
    assert found[2:5] == (request.max_wait_ms, request.min_bytes, request.max_bytes)
    assert found.read_committed == (request.isolation_level == 1)
    replica = request.replica_state if version >= 15 else request
    assert found.replica_id == replica.replica_id
    key = (lambda t: t.topic_id.bytes) if version >= 13 else (lambda t: t.topic)
    assert found.topics == [
        (
            key(topic),
            [
                (
                    p.partition, p.current_leader_epoch, p.fetch_offset, p.last_fetched_epoch,
                    p.log_start_offset, p.partition_max_bytes,
                )
                for p in topic.partitions
            ],
        )
        for topic in request.topics
    ]  # fmt: skip
    if version >= 7:
        assert (found.session_id, found.session_epoch) == (
            request.session_id,
            request.session_epoch,
        )
        assert found.forgotten == [(key(t), t.partitions) for t in request.forgotten_topics_data]
    assert found.rack_id == (request.rack_id if version >= 11 else "")


@given(requests(), st.data())
def test_a_torn_or_damaged_request_is_refused_and_nothing_else(
    versioned: tuple[int, table.FetchRequest], data: st.DataObject
) -> None:
    version, request = versioned
    frame = bytearray(encode_request(request, version, 1, None))
    body = parse_request_header(memoryview(frame)[4:], 0, len(frame) - 4).body_pos
    frame[data.draw(st.integers(4 + body, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse(bytes(frame[: data.draw(st.integers(4 + body, len(frame)))]), version)
    except ProtocolError:
        return


DATA = st.builds(
    PartitionData,
    partition=INT32,
    error=st.integers(-1, 100),
    high_watermark=INT64,
    last_stable_offset=INT64,
    log_start_offset=INT64,
    records=st.binary(max_size=300),
    aborted=st.none() | st.lists(st.tuples(INT64, INT64), max_size=2).map(tuple),
    diverging_epoch=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    current_leader=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    preferred_read_replica=st.integers(-1, 5),
)


@given(VERSIONS, st.lists(st.tuples(NAMES, st.lists(DATA, max_size=3)), max_size=3))
def test_a_response_reads_as_the_tables_would_have_it(
    version: int, topics: list[tuple[str, list[PartitionData]]]
) -> None:
    named = [
        (uuid.uuid5(uuid.NAMESPACE_DNS, n).bytes if version >= 13 else n, parts)
        for n, parts in topics
    ]
    buffers = encode_fetch_response(7, version, 3, 9, named, len(named))
    frame = b"".join(buffers)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    correlation_id, response = decode_response(1, version, frame[4:])
    assert correlation_id == 7
    if version >= 7:
        assert (response.error_code, response.session_id) == (3, 9)
    for (topic, parts), told in zip(named, response.responses, strict=True):
        assert topic == (told.topic_id.bytes if version >= 13 else told.topic)
        for data, part in zip(parts, told.partitions, strict=True):
            assert_same(version, data, part)


def assert_same(version: int, data: PartitionData, part: table.PartitionData) -> None:
    assert (
        part.partition_index,
        part.error_code,
        part.high_watermark,
        part.last_stable_offset,
    ) == data[:4]
    assert bytes(part.records or b"") == data.records
    aborted = part.aborted_transactions
    assert (
        None if aborted is None else tuple((a.producer_id, a.first_offset) for a in aborted)
    ) == data.aborted
    if version >= 11:
        assert part.preferred_read_replica == data.preferred_read_replica
    if version >= 12 and data.diverging_epoch is not None:
        assert (part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == data.diverging_epoch
    if version >= 12 and data.current_leader is not None:
        assert (
            part.current_leader.leader_id,
            part.current_leader.leader_epoch,
        ) == data.current_leader
