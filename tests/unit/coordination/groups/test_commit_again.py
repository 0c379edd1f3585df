"""A commit that comes again comes to what any commit comes to: the same bytes in the log, the same state behind it."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.batches import encode
from ottla.coordination.groups.commit_again import CommitAgain
from ottla.coordination.groups.offset_requests import Commit, commit
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID
from tests.unit.coordination.groups.offset_stories import Shard, ToldGroup, at

steps = st.lists(
    st.tuples(st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1), st.integers(0, 90_000)),
    min_size=1,
    max_size=8,
)


def asked(topic_id: uuid.UUID = ZERO_UUID, member_id: str = "m") -> Commit:
    topics = [TopicToCommit("t", topic_id, [at(3, 0)])]
    return Commit("g", topics, 9, member_id=member_id, generation=2, client_id="c")


def nobody(value: object) -> None:
    raise AssertionError("a machine never calls a token")


def shard() -> Shard:
    made = Shard()
    made.groups["g"] = ToldGroup()
    return made


@given(steps, st.sampled_from([ZERO_UUID, uuid.UUID(int=7)]), st.booleans())
def test_log_and_state_are_those_of_any_commit(
    walked: list[tuple[int, int, int]], topic_id: uuid.UUID, is_held: bool
) -> None:
    request, ordinary, quick = asked(topic_id), shard(), shard()
    again, now_ms = CommitAgain(request), 1_700_000_000_000
    for each in (ordinary, quick):
        if is_held:
            each.commit_in_transaction(9, "g", "t", 3, 5)
    for offset, leader_epoch, later_ms in walked:
        now_ms += later_ms
        position = request.topics[0].partitions[0]
        position.committed_offset, position.committed_leader_epoch = offset, leader_epoch
        decision = commit(ordinary, request, nobody, now_ms)
        ordinary.write(decision)
        assert again.decide(quick, now_ms)
        batch = again.record.alone(now_ms)
        header, data = encode(decision.records, None, now_ms)
        assert (batch[0], bytes(batch[1])) == (header, bytes(data))
        again.replay(quick, now_ms)
    for each in (ordinary, quick):
        each.offsets.replay_marker(9, committed=True)
    assert quick.offsets.topics("g") == ordinary.offsets.topics("g")
    assert str(quick.offsets.history.of("g")) == str(ordinary.offsets.history.of("g"))
    assert quick.groups == ordinary.groups


@pytest.mark.parametrize("refusal", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH])
def test_what_the_group_refuses_is_not_decided_here(refusal: ErrorCode) -> None:
    made = shard()
    made.groups["g"] = ToldGroup(commit_error=refusal)
    assert not CommitAgain(asked()).decide(made, 0)
    assert made.groups["g"].heard_of == []


def test_a_group_that_does_not_exist_is_not_made_here() -> None:
    assert not CommitAgain(asked()).decide(Shard(), 0)
