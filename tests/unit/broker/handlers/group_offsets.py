"""Offsets of groups, asked for in any version, for tests of the handlers."""

import struct
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)
from ottla.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client

COMING = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}


class Member(NamedTuple):
    """A member of a stable group."""

    member_id: str
    generation: int


class Found(NamedTuple):
    """The answer of an OffsetFetch for one partition."""

    offset: int
    metadata: str | None
    leader_epoch: int
    error: int


def new_group(client: Client) -> str:
    """A name that nobody has used, of a group whose coordinator is ready."""
    group = f"group-{uuid.uuid4().hex[:12]}"
    wait_until_coordinated(client, group)
    return group


def wait_until_coordinated(client: Client, group: str) -> None:
    """Wait until the coordinator of a group is ready; the first who asks makes it."""
    wait_for(lambda: _is_coordinated(client, group), "the group coordinator", timeout_s=30)


def _is_coordinated(client: Client, group: str) -> bool:
    request = FindCoordinatorRequest(coordinator_keys=[group])
    [found] = client.ask(request, 4).coordinators
    return found.error_code == 0 and fetch_group(client, group, None).error_code not in COMING


def id_of(client: Client, topic: str) -> uuid.UUID:
    named = [MetadataRequestTopic(name=topic)]
    request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
    [found] = client.ask(request).topics
    assert isinstance(found.topic_id, uuid.UUID)
    return found.topic_id


def positions(
    offsets: Mapping[int, int], epoch: int = -1, metadata: str | None = ""
) -> list[OffsetCommitRequestPartition]:
    return [
        OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=epoch,
            committed_metadata=metadata,
        )
        for partition, offset in offsets.items()
    ]


def commit(
    client: Client,
    group: str,
    topic: str,
    offsets: Mapping[int, int],
    *,
    version: int = 9,
    topic_id: uuid.UUID = ZERO_UUID,
    epoch: int = -1,
    metadata: str | None = "",
    **who: Any,
) -> dict[int, int]:
    """The error code of each partition."""
    partitions = positions(offsets, epoch, metadata)
    named = OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=partitions)
    [answered] = client.ask(
        OffsetCommitRequest(group_id=group, topics=[named], **who), version
    ).topics
    assert (answered.name, answered.topic_id) == (
        (topic, ZERO_UUID) if version < 10 else ("", topic_id)
    )
    return {each.partition_index: each.error_code for each in answered.partitions}


def commit_as(
    client: Client, group: str, topic: str, member: Member, offset: int = 1, version: int = 9
) -> int:
    """The error code that a member gets for partition 0."""
    return commit(
        client,
        group,
        topic,
        {0: offset},
        version=version,
        member_id=member.member_id,
        generation_id_or_member_epoch=member.generation,
    )[0]


def fetch(
    client: Client,
    group: str,
    topic: str,
    partitions: Iterable[int],
    version: int = 9,
    **options: Any,
) -> dict[int, Found]:
    """The answer for each partition of one topic."""
    wanted = OffsetFetchRequestTopics(
        name=topic,
        topic_id=id_of(client, topic) if version >= 10 else ZERO_UUID,
        partition_indexes=list(partitions),
    )
    answered = fetch_group(client, group, [wanted], version, **options)
    assert answered.error_code == 0
    [found] = answered.topics
    return {
        each.partition_index: Found(
            each.committed_offset, each.metadata, each.committed_leader_epoch, each.error_code
        )
        for each in found.partitions
    }


def fetch_group(
    client: Client,
    group: str,
    topics: list[OffsetFetchRequestTopics] | None,
    version: int = 9,
    *,
    stable: bool = False,
) -> OffsetFetchResponseGroup:
    """The whole answer for one group, in the form of version 8 and later whatever the version."""
    if version >= 8:
        asked = OffsetFetchRequestGroup(group_id=group, topics=topics)
        request = OffsetFetchRequest(groups=[asked], require_stable=stable)
        [answered] = client.ask(request, version).groups
        assert isinstance(answered, OffsetFetchResponseGroup)
        return answered
    old = [
        OffsetFetchRequestTopic(name=each.name, partition_indexes=each.partition_indexes)
        for each in topics or ()
    ]
    response = client.ask(
        OffsetFetchRequest(
            group_id=group, topics=None if topics is None else old, require_stable=stable
        ),
        version,
    )
    return OffsetFetchResponseGroup(
        group_id=group, topics=response.topics, error_code=response.error_code
    )


def delete(client: Client, group: str, topic: str, partitions: Iterable[int]) -> Any:
    """The whole response."""
    wanted = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
    named = OffsetDeleteRequestTopic(name=topic, partitions=wanted)
    return client.ask(OffsetDeleteRequest(group_id=group, topics=[named]), 0)


def subscription(*topics: str) -> bytes:
    """What a consumer says when it joins: version 0, its topics, no user data."""
    named = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + named + struct.pack(">i", -1)


def join(client: Client, group: str, *topics: str, protocol_type: str = "consumer") -> Member:
    """Become the only member of a group, and wait until it is stable."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription(*topics))],
    )
    request.member_id = client.ask(request, 5).member_id
    joined = client.ask(request, 5)
    assert joined.error_code == 0, joined
    member = Member(joined.member_id, joined.generation_id)
    synced = client.ask(_sync(group, member), 3)
    assert synced.error_code == 0, synced
    return member


def _sync(group: str, member: Member) -> SyncGroupRequest:
    own = SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"\0\0\0\0\0\0")
    return SyncGroupRequest(
        group_id=group,
        generation_id=member.generation,
        member_id=member.member_id,
        assignments=[own],
    )
