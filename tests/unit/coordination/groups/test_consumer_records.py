"""The records of consumer groups are those of Kafka 4.3, to the byte.

`kafka_4_3_consumer_groups.txt` is what Apache Kafka 4.3.0 wrote to `__consumer_offsets` (key and value, in hexadecimal)
while librdkafka 2.15 went through five groups: two members; a pattern; a static member that restarts; a classic member
that joins a consumer group and is left alone in it; a classic group that a consumer member joins.
"""

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.config.groups import GroupsConfig
from ottla.coordination.groups import consumer_records
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.consumer_member import MemberState
from ottla.coordination.groups.consumer_records import (
    CurrentValue,
    Epoch,
    Kind,
    MemberValue,
    OwnedPartitions,
    TargetEpoch,
    TargetPartitions,
    TargetValue,
    encode_value,
    record,
)
from ottla.coordination.groups.records import key_version
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.topics import Topics

LINES = (Path(__file__).parent / "kafka_4_3_consumer_groups.txt").read_text().splitlines()
RECORDS = [
    (bytes.fromhex(key), None if value == "-" else bytes.fromhex(value))
    for key, value in (line.split() for line in LINES)
]


def test_what_kafka_wrote_is_read_and_written_again_to_the_byte() -> None:
    kinds = set()
    for key, value in RECORDS:
        if key_version(key) not in consumer_records.KEY_VERSIONS:
            continue
        named = consumer_records.decode_key(key)
        kinds.add(named.kind)
        if value is None:
            assert consumer_records.tombstone(*named) == (key, None)
            continue
        decoded = consumer_records.decode_value(named.kind, value)
        assert decoded is not None
        assert record(named.kind, named.group_id, decoded, named.name) == (key, value)
    assert kinds == set(Kind)


NUMBERS = st.integers(0, 2**31 - 1)
OWNED = st.dictionaries(st.uuids(), st.dictionaries(NUMBERS, NUMBERS, max_size=200), max_size=3)


def rows(owned: dict[UUID, dict[int, int]]) -> list[OwnedPartitions]:
    return [
        OwnedPartitions(
            topic_id=topic_id, partitions=list(since), assignment_epochs=list(since.values())
        )
        for topic_id, since in owned.items()
    ]


@given(st.tuples(NUMBERS, NUMBERS), st.integers(0, 127), OWNED, OWNED)
def test_what_a_member_owns_is_written_by_hand_as_the_tables_say(
    epochs: tuple[int, int],
    state: int,
    assigned: dict[UUID, dict[int, int]],
    pending: dict[UUID, dict[int, int]],
) -> None:
    value = CurrentValue(
        member_epoch=epochs[0],
        previous_member_epoch=epochs[1],
        state=state,
        assigned_partitions=rows(assigned),
        partitions_pending_revocation=rows(pending),
    )
    by_hand = consumer_records.encode_current(epochs, state, assigned, pending)
    assert by_hand == encode_value(value)


@given(NUMBERS, st.integers(-(2**63), 2**63 - 1) | st.just(0))
def test_epochs_are_written_by_hand_as_the_tables_say(epoch: int, tagged: int) -> None:
    for kind, value in (
        (Kind.EPOCH, Epoch(epoch=epoch, metadata_hash=tagged)),
        (Kind.TARGET_EPOCH, TargetEpoch(assignment_epoch=epoch, assignment_timestamp_ms=tagged)),
    ):
        by_hand = consumer_records.epoch_record(kind, "g", epoch, tagged)
        assert by_hand == record(kind, "g", value)


@given(st.dictionaries(st.uuids(), st.frozensets(NUMBERS, max_size=200), max_size=3))
def test_what_a_member_shall_own_is_written_by_hand_as_the_tables_say(
    target: dict[UUID, frozenset[int]],
) -> None:
    parts = [TargetPartitions(topic_id=t, partitions=sorted(found)) for t, found in target.items()]
    assert consumer_records.encode_target(target) == encode_value(
        TargetValue(topic_partitions=parts)
    )


def replayed(count: int) -> GroupShard:
    shard = GroupShard(GroupsConfig(), Topics())
    for key, value in RECORDS[:count]:
        shard.replay(key, value, None)
    return shard


def until(group_id: str, kind: Kind) -> GroupShard:
    """Kafka's log up to the last record of a kind that says something of a group."""
    wanted = [
        number
        for number, (key, value) in enumerate(RECORDS)
        if value is not None
        and key_version(key) == kind
        and consumer_records.decode_key(key).group_id == group_id
    ]
    return replayed(wanted[-1] + 1)


def test_a_group_that_kafka_wrote_is_taken_over() -> None:
    group = until("regex", Kind.CURRENT).groups["regex"]
    assert isinstance(group, ConsumerGroup)
    [member] = group.members.values()
    assert (group.epoch, group.assignment_epoch, group.state_name) == (2, 2, "Stable")
    assert member.pattern == "(^(alpha|gamma)$)"
    assert group.resolved[member.pattern].topics == {"alpha", "gamma"}
    assert sorted(map(len, member.assigned.values())) == [3, 6]
    assert all(group.owner(topic, 0) == member.member_id for topic in member.assigned)


def test_groups_that_changed_their_protocol_are_of_the_last_kind() -> None:
    shard = replayed(len(RECORDS))
    assert isinstance(shard.groups["mixed"], ClassicGroup)
    assert isinstance(shard.groups["up"], ConsumerGroup)
    assert shard.groups["up"].is_empty
    assert not shard.groups["static"].is_empty, (
        "a static member that went for a while has its place"
    )


def test_partitions_without_epochs_are_owned_since_ever() -> None:
    """Kafka before 4.2 did not write since when a partition is owned."""
    value = CurrentValue(
        member_epoch=5,
        state=99,
        assigned_partitions=[consumer_records.OwnedPartitions(partitions=[3, 4])],
    )
    shard = GroupShard(GroupsConfig(), Topics())
    shard.replay(*record(Kind.MEMBER, "g", MemberValue(), "m"), None)
    shard.replay(*record(Kind.CURRENT, "g", value, "m"), None)
    group = shard.groups["g"]
    assert isinstance(group, ConsumerGroup)
    [member] = group.members.values()
    assert [dict(partitions) for partitions in member.assigned.values()] == [{3: 0, 4: 0}]
    assert member.state is MemberState.UNKNOWN


def test_a_value_of_an_unknown_version_is_refused() -> None:
    with pytest.raises(ProtocolError, match="unknown version"):
        consumer_records.decode_value(Kind.EPOCH, b"\0\7\0\0\0\1\0")
