"""What a commit takes in at once is what reading its records back would: state and history come out the same."""

from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import Decision, Transactional
from ottla.coordination.groups.offset_history import Entry
from ottla.coordination.groups.offset_requests import Commit, commit
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.topics import Topics
from ottla.protocol.apis.offset_commit import OffsetCommitRequestPartition
from ottla.protocol.schema import ZERO_UUID

GROUPS, TOPICS = ("g", "h"), ("t", "u")


class Step(NamedTuple):
    """A commit some time after the one before; or without topics the end of a transaction."""

    after_ms: int
    group: str
    topics: list[TopicToCommit]
    member: str = ""
    retention_ms: int = -1
    producer: int | None = None


positions = st.builds(
    OffsetCommitRequestPartition,
    partition_index=st.integers(0, 2),
    committed_offset=st.integers(0, 20),
    committed_leader_epoch=st.integers(-1, 5),
    committed_metadata=st.sampled_from([None, "", "", "", "née", "x" * 200]),
)
steps = st.builds(
    Step,
    after_ms=st.sampled_from([0, 0, 1, 1_000, 70_000]),
    group=st.sampled_from(GROUPS),
    topics=st.lists(
        st.builds(
            TopicToCommit,
            st.sampled_from(TOPICS),
            st.sampled_from([ZERO_UUID, UUID(int=7)]),
            st.lists(positions, min_size=1, max_size=3),
        ),
        max_size=2,
    ),
    member=st.sampled_from(["", "m1"]),
    retention_ms=st.sampled_from([-1, -1, 50]),
    producer=st.sampled_from([None, None, 1, 2]),
)


def read_back(shard: GroupShard, decision: Decision) -> None:
    for key, value in decision.records:
        shard.replay(key, value, decision.transactional)


def taken_in(shard: GroupShard, decision: Decision) -> None:
    assert decision.replay is not None
    decision.replay()


def played(story: list[Step], replay: Any) -> GroupShard:
    shard, now_ms = GroupShard(GroupsConfig(), Topics()), 1_000_000
    for after_ms, group, topics, member, retention_ms, producer in story:
        now_ms += after_ms
        if not topics:
            shard.replay_marker(producer or 1, now_ms % 2 == 0)
            continue
        held = None if producer is None else Transactional(producer, 0)
        who = {"client_id": member, "retention_ms": retention_ms, "transactional": held}
        asked = Commit(group, topics, 9, **who)  # type: ignore[arg-type]
        replay(shard, commit(shard, asked, lambda _: None, now_ms))
    return shard


def seen(shard: GroupShard) -> Any:
    """Everything that a commit may have changed."""
    offsets = shard.offsets
    return (
        sorted(shard.groups),
        {group: offsets.topics(group) for group in GROUPS},
        offsets._held,
        offsets._holders,
        {group: [_said(entry) for entry in offsets.history.of(group)] for group in GROUPS},
    )


def _said(entry: Entry) -> Any:
    return (
        entry.author, entry.first_ms, entry.last_ms, entry.commits, entry.is_walk, entry.moves,
    )  # fmt: skip


@given(st.lists(steps, max_size=12))
def test_what_is_taken_in_is_what_would_be_read(story: list[Step]) -> None:
    nameless = [step._replace(member="") for step in story]  # records do not tell who it was
    assert seen(played(nameless, taken_in)) == seen(played(nameless, read_back))


@given(st.lists(steps, max_size=12))
def test_a_step_of_a_walk_is_noted_as_any_other_move(story: list[Step]) -> None:
    quick = seen(played(story, taken_in))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Entry, "goes_on", lambda *_: False)
        assert seen(played(story, taken_in)) == quick
