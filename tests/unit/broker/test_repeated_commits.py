"""A commit that comes again is taken for what it is: the same with another offset, or else not recalled at all."""

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker import repeated_commits
from ottla.broker.context import RequestContext
from ottla.broker.repeated_commits import RepeatedCommit, recall, remember
from ottla.cluster.image import TopicImage
from ottla.coordination.groups.offset_requests import Commit
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.codec import decode_request
from ottla.protocol.encoders import encoder

TOPIC = TopicImage("t", UUID(int=7), (), 0)
FIRST_FLEXIBLE = 8
versions = st.integers(6, 10)
texts = st.text(max_size=5)
requests = st.builds(
    OffsetCommitRequest,
    group_id=texts,
    generation_id_or_member_epoch=st.integers(-1, 300),
    member_id=texts,
    group_instance_id=st.none() | texts,
    topics=st.builds(
        OffsetCommitRequestTopic,
        name=texts,
        topic_id=st.just(UUID(int=7)),
        partitions=st.builds(
            OffsetCommitRequestPartition,
            partition_index=st.integers(0, 2**31 - 1),
            committed_offset=st.integers(0, 2**63 - 1),
            committed_leader_epoch=st.integers(-1, 2**31 - 1),
            committed_metadata=st.sampled_from([None, "", "m"]),
        ).map(lambda each: [each]),
    ).map(lambda each: [each]),
)


def context(version: int, client_id: str | None = "c", topic: TopicImage = TOPIC) -> RequestContext:
    """As much of a request's surroundings as is looked at."""
    image = SimpleNamespace(topics={topic.name: topic})
    broker = SimpleNamespace(metadata=SimpleNamespace(image=image))
    return RequestContext(cast(Any, broker), cast(Any, None), version, 1, client_id)


def frame_of(request: OffsetCommitRequest, version: int, tags: bytes = b"") -> memoryview:
    """The body of a request, behind a byte of something else; with tags of its own if it is to have any."""
    out = bytearray(b"!")
    encoder(OffsetCommitRequest, version, version >= FIRST_FLEXIBLE)(request, out)
    if tags and version >= FIRST_FLEXIBLE:
        out[-1:] = tags
    return memoryview(out)


def decoded(frame: memoryview, version: int) -> OffsetCommitRequest:
    found: OffsetCommitRequest = decode_request(
        int(ApiKey.OFFSET_COMMIT), version, frame, 1, len(frame)
    )
    return found


def keep(frame: memoryview, version: int) -> None:
    commit = RepeatedCommit("c", decoded(frame, version), TOPIC, cast(Commit, None), b"")
    remember(context(version), frame, 1, commit)


@given(requests, requests, versions, st.integers(0, 9), st.sampled_from([b"", b"\1\5\3\0\0\0"]))
def test_what_is_recalled_is_what_the_frame_says(
    first: OffsetCommitRequest, other: OffsetCommitRequest, version: int, offset: int, tags: bytes
) -> None:
    repeated_commits._known.clear()
    keep(frame_of(first, version, tags), version)
    again = decoded(frame_of(first, version), version)
    again.topics[0].partitions[0].committed_offset = offset
    for request in (again, other):
        frame = frame_of(request, version)
        found = recall(context(version), frame, 1)
        if found is not None:
            sent, known = decoded(frame, version), found.request
            sent.topics[0].partitions[0].committed_metadata = None
            known.topics[0].partitions[0].committed_metadata = None
            assert known == sent


@pytest.mark.parametrize("version", range(6, 11))
def test_the_second_commit_is_recalled(version: int) -> None:
    repeated_commits._known.clear()
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    named = OffsetCommitRequestTopic(name="t", topic_id=UUID(int=7), partitions=[position])
    request = OffsetCommitRequest(group_id="g", topics=[named])
    keep(frame_of(request, version), version)
    position.committed_offset = 6
    frame = frame_of(request, version)
    found = recall(context(version), frame, 1)
    assert found is not None
    assert found.position.committed_offset == 6
    assert recall(context(version, client_id="another"), frame, 1) is None
    assert recall(context(version, topic=TopicImage("t", UUID(int=8), (), 0)), frame, 1) is None


def test_no_more_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated_commits._known.clear()
    monkeypatch.setattr(repeated_commits, "_MOST_KNOWN", 3)
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    named = OffsetCommitRequestTopic(name="t", partitions=[position])
    for number in range(10):
        keep(frame_of(OffsetCommitRequest(group_id=f"g{number}", topics=[named]), 9), 9)
        assert 0 < len(repeated_commits._known) <= 3
