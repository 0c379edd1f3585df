"""OffsetFetch frames put together from positions equal what the message tables encode."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker.offset_frames import FIRST_VERSION, encode_offset_fetch_response
from ottla.coordination.groups.offset_records import (
    NO_EXPIRY,
    Committed,
    decode_value,
    encode_value,
    no_position,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from ottla.protocol.codec import encode_response

VERSIONS = range(FIRST_VERSION, ApiKey.OFFSET_FETCH.last_version + 1)
partitions = st.integers(0, 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
written = st.builds(
    Committed,
    committed_offset=int64s,
    committed_leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=200),
    commit_timestamp_ms=int64s,
    expire_timestamp_ms=st.sampled_from([NO_EXPIRY, 5]),
    topic_id=st.uuids(),
)
positions = st.builds(
    lambda position, partition: decode_value(encode_value(position), partition), written, partitions
) | st.builds(no_position, partitions, st.integers(-1, 130))


def topic(name: str, topic_id: UUID, held: list[Any]) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=held)


topics = st.builds(topic, st.text(max_size=200), st.uuids(), st.lists(positions, max_size=5))
groups = st.builds(
    lambda name, held, code: OffsetFetchResponseGroup(group_id=name, topics=held, error_code=code),
    st.text(max_size=20),
    st.lists(topics, max_size=3),
    st.integers(-1, 130),
)


def spelled_out(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    """The same answer, made of nothing but messages."""
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        error_code=group.error_code,
        topics=[
            topic(
                each.name,
                each.topic_id,
                [
                    OffsetFetchResponsePartitions(
                        partition_index=position.partition_index,
                        committed_offset=position.committed_offset,
                        committed_leader_epoch=position.committed_leader_epoch,
                        metadata=position.metadata,
                        error_code=position.error_code,
                    )
                    for position in each.partitions
                ],
            )
            for each in group.topics
        ],
    )


@pytest.mark.parametrize("version", VERSIONS)
@given(st.lists(groups, max_size=3))
def test_a_frame_is_what_the_tables_say(
    version: int, answered: list[OffsetFetchResponseGroup]
) -> None:
    response = OffsetFetchResponse(groups=[spelled_out(group) for group in answered])
    frame = encode_offset_fetch_response(answered, version, 7)
    assert frame == encode_response(response, version, 7)
