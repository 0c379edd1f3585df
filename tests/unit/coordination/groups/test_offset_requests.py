"""Requests about offsets: the group has its say first."""

import uuid
from typing import Any

import pytest

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.coordination.decision import Decision, Transactional
from ottla.coordination.groups.offset_requests import (
    Commit,
    Fetch,
    TopicToFetch,
    commit,
    delete,
    fetch,
)
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID
from tests.unit.coordination.groups.offset_stories import Shard, ToldGroup, at

ID, OTHER_ID = uuid.UUID(int=7), uuid.UUID(int=8)


def asked(topic_id: uuid.UUID = ZERO_UUID, **values: Any) -> Commit:
    settings: dict[str, Any] = {"group_id": "g", "version": 9, **values}
    return Commit(topics=[TopicToCommit("t", topic_id, [at(0, 5)])], **settings)


def answer(decision: Decision) -> Any:
    [(_, value)] = decision.replies
    return value.code if isinstance(value, ApiError) else value


def nobody(value: Any) -> None:
    raise AssertionError("a machine never calls a token")


def test_anybody_may_commit_to_a_group_that_does_not_exist() -> None:
    decision = commit(Shard(), asked(), nobody, 0)
    assert answer(decision) == [0]
    assert len(decision.records) == 1


@pytest.mark.parametrize(
    ("version", "error"),
    [(9, ErrorCode.GROUP_ID_NOT_FOUND), (8, ErrorCode.ILLEGAL_GENERATION)],
)
def test_a_member_of_a_group_that_does_not_exist_is_told_so(version: int, error: int) -> None:
    decision = commit(Shard(), asked(version=version, generation=3, member_id="m"), nobody, 0)
    assert answer(decision) == error
    assert not decision.records


def test_the_group_decides_who_commits_and_hears_that_the_member_lives() -> None:
    shard = Shard()
    group = shard.groups["g"] = ToldGroup()
    request = asked(generation=3, member_id="m", instance_id="i")
    assert answer(commit(shard, request, nobody, 77)) == [0]
    assert group.asked == [("m", "i", 3, False)]
    assert group.heard_of == [("m", 77)]
    group.commit_error = ErrorCode.ILLEGAL_GENERATION
    assert answer(commit(shard, request, nobody, 78)) == ErrorCode.ILLEGAL_GENERATION
    assert group.heard_of == [("m", 77)]


def test_the_group_learns_whether_a_request_knows_of_member_epochs() -> None:
    shard = Shard()
    group = shard.groups["g"] = ToldGroup(commit_error=ErrorCode.STALE_MEMBER_EPOCH)
    assert answer(commit(shard, asked(version=9), nobody, 0)) == ErrorCode.STALE_MEMBER_EPOCH
    in_transaction = asked(version=9, transactional=Transactional(1, 0))
    assert answer(commit(shard, in_transaction, nobody, 0)) == ErrorCode.ILLEGAL_GENERATION
    commit(shard, asked(version=8), nobody, 0)
    assert group.knew_epochs == [True, False, False]


def test_a_member_that_moved_on_may_commit_what_it_still_holds() -> None:
    shard = Shard()
    group = shard.groups["g"] = ToldGroup(commit_error=ErrorCode.STALE_MEMBER_EPOCH)
    late = asked(ID, generation=3, member_id="m")
    assert answer(commit(shard, late, nobody, 0)) == ErrorCode.STALE_MEMBER_EPOCH
    group.held = {(ID, 0)}
    assert answer(commit(shard, late, nobody, 0)) == [0]
    group.commit_error = ErrorCode.UNKNOWN_MEMBER_ID
    assert answer(commit(shard, late, nobody, 0)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_in_a_transaction_is_written_as_its_producers() -> None:
    shard = Shard()
    group = shard.groups["g"] = ToldGroup()
    producer = Transactional(producer_id=4, producer_epoch=2)
    decision = commit(shard, asked(version=3, transactional=producer), nobody, 0)
    assert decision.transactional == producer
    assert group.asked == [("", None, -1, True)]
    assert group.heard_of == []


def positions(shard: Shard, request: Fetch) -> dict[tuple[str, int], tuple[int, int]]:
    found = fetch(shard, request)
    return {
        (topic.name, each.partition_index): (each.committed_offset, each.error_code)
        for topic in found.topics
        for each in topic.partitions
    }


def test_fetch_answers_minus_one_for_what_was_never_committed() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5)
    wanted = [TopicToFetch("t", [0, 1]), TopicToFetch("u", [3])]
    assert positions(shard, Fetch("g", wanted)) == {
        ("t", 0): (5, 0),
        ("t", 1): (-1, 0),
        ("u", 3): (-1, 0),
    }
    assert positions(shard, Fetch("unheard of", [TopicToFetch("t", [0])])) == {("t", 0): (-1, 0)}


def test_fetch_without_topics_is_everything() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5)
    shard.commit("g", "u", 1, 6)
    shard.commit("h", "v", 1, 6)
    assert positions(shard, Fetch("g", None)) == {("t", 0): (5, 0), ("u", 1): (6, 0)}
    assert positions(shard, Fetch("unheard of", None)) == {}


def test_whoever_wants_stable_offsets_is_told_to_come_back() -> None:
    shard = Shard()
    shard.commit("g", "t", 0, 5)
    shard.commit("g", "t", 1, 5)
    shard.commit_in_transaction(1, "g", "t", 0, 9)
    wanted = [TopicToFetch("t", [0, 1])]
    unstable = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert positions(shard, Fetch("g", wanted, require_stable=True)) == {
        ("t", 0): unstable,
        ("t", 1): (5, 0),
    }
    assert positions(shard, Fetch("g", wanted))["t", 0] == (5, 0)
    assert positions(shard, Fetch("g", None, require_stable=True))["t", 0] == unstable


def test_an_offset_of_a_topic_that_was_made_anew_is_not_told() -> None:
    shard = Shard()
    shard.write(commit(shard, asked(ID), nobody, 0))
    assert positions(shard, Fetch("g", [TopicToFetch("t", [0], ID)])) == {("t", 0): (5, 0)}
    assert positions(shard, Fetch("g", [TopicToFetch("t", [0])])) == {("t", 0): (5, 0)}
    assert positions(shard, Fetch("g", [TopicToFetch("t", [0], OTHER_ID)])) == {("t", 0): (-1, 0)}


def test_the_group_may_refuse_a_fetch() -> None:
    shard = Shard()
    shard.groups["g"] = ToldGroup(fetch_error=ErrorCode.STALE_MEMBER_EPOCH)
    found = fetch(shard, Fetch("g", [TopicToFetch("t", [0])]))
    assert found.error_code == ErrorCode.STALE_MEMBER_EPOCH
    assert found.topics == []


def test_offsets_that_nobody_subscribes_to_are_deleted() -> None:
    shard = Shard()
    shard.groups["g"] = ToldGroup(subscribed={"read"})
    shard.commit("g", "read", 0, 5)
    shard.commit("g", "left", 0, 5)
    wanted = [TopicPartition("read", 0), TopicPartition("left", 0), TopicPartition("left", 1)]
    decision = delete(shard, "g", wanted, nobody, 0)
    assert answer(decision) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0, 0]
    shard.write(decision)
    assert list(shard.offsets.topics("g")) == ["read"]


def test_groups_that_cannot_lose_offsets_say_why() -> None:
    shard = Shard()
    shard.groups["busy"] = ToldGroup(delete_error=ErrorCode.NON_EMPTY_GROUP)
    assert answer(delete(shard, "busy", [], nobody, 0)) == ErrorCode.NON_EMPTY_GROUP
    assert answer(delete(shard, "none", [], nobody, 0)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer(delete(shard, "", [], nobody, 0)) == ErrorCode.INVALID_GROUP_ID
