"""Requests of the group protocol as bytes of kafka-python's making; as a program, a flood of them."""

import struct
import sys
from collections.abc import Callable

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

from tests.support.wire import Wire, frame_of

IN_FLIGHT = 100
LAST_WITHOUT_MEMBER_ID = 3
FIRST_WITH_MEMBER_ID = 5


def subscription(topic: str, user_data: bytes = b"") -> bytes:
    """What a member wants, in the bytes of the consumer protocol."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    return struct.pack(">hi", 0, 1) + name + struct.pack(">i", len(user_data)) + user_data


def assignment(topic: str, partition: int, user_data: bytes = b"") -> bytes:
    """What a member is given, likewise."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    rest = struct.pack(">iii", 1, partition, len(user_data)) + user_data
    return struct.pack(">hi", 0, 1) + name + rest


def join(
    group: str,
    metadata: bytes = b"",
    version: int = LAST_WITHOUT_MEMBER_ID,
    member_id: str = "",
) -> ApiMessage:
    """Become a member; up to version 3 at once, later ones are told to come back with an id."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata)
    return JoinGroupRequest[version](
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[protocol],
    )


def sync(group: str, generation: int, member_id: str, given: bytes) -> ApiMessage:
    """The leader, which is alone, gives itself something."""
    own = SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=given)
    return SyncGroupRequest[3](
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=None,
        assignments=[own],
    )


def heartbeat(group: str, generation: int, member_id: str) -> ApiMessage:
    """A member lives."""
    return HeartbeatRequest[3](
        group_id=group, generation_id=generation, member_id=member_id, group_instance_id=None
    )


def commit(
    group: str, topic: str, offset: int, generation: int = -1, member_id: str = ""
) -> ApiMessage:
    """Commit an offset of the first partition; a group without members takes it from anybody."""
    topics = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topics.OffsetCommitRequestPartition(
        partition_index=0,
        committed_offset=offset,
        committed_leader_epoch=-1,
        committed_metadata="",
    )
    return OffsetCommitRequest[7](
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=None,
        topics=[topics(name=topic, partitions=[partition])],
    )


FLOODS: dict[str, Callable[[str, int], ApiMessage]] = {
    "joins": lambda topic, number: join("flooded", version=FIRST_WITH_MEMBER_ID),
    "members": lambda topic, number: join(f"of-one-{number}"),
    "commits": lambda topic, number: commit(f"of-none-{number}", topic, number),
}


def flood(kind: str, bootstrap: str, topic: str, count: int) -> None:
    """Send so many requests, a hundred at a time; a line when it begins and one after each quarter."""
    frames = [frame_of(FLOODS[kind](topic, number), number) for number in range(count)]
    with Wire(bootstrap, timeout_s=60) as wire:
        print("ready", flush=True)
        for first in range(0, count, IN_FLIGHT):
            wire.send_bytes(b"".join(frames[first : first + IN_FLIGHT]))
            for _ in frames[first : first + IN_FLIGHT]:
                wire.receive_bytes()
            if (first + IN_FLIGHT) % (count // 4) == 0:
                print("a quarter", flush=True)


if __name__ == "__main__":
    flood(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
