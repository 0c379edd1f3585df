"""Rebalances as two members on two connections see them; all of it is true of Apache Kafka as well."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from ottla.protocol.apis.join_group import JoinGroupRequestProtocol
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import (
    METADATA,
    asked,
    heartbeat,
    join,
    join_request,
    new_group,
    stable_member,
    sync,
)


@pytest.fixture
def other(bootstrap: str) -> Iterator[Client]:
    with closing(Client(bootstrap)) as connection:
        yield connection


@pytest.fixture
def group(client: Client) -> str:
    return new_group(client)


def await_rebalance(client: Client, group: str, joined: Any) -> None:
    """Until this member learns that it has to join again: what others sent is on connections of their own."""
    wait_for(
        lambda: heartbeat(client, group, joined) == ErrorCode.REBALANCE_IN_PROGRESS, "a rebalance"
    )


def two_members(client: Client, other: Client, group: str, **fields: Any) -> tuple[Any, Any]:
    """A stable group of a leader, who owns b"0", and a follower, who owns b"1"."""
    first = join(client, group, **fields.get("leader", {}))
    answer = asked(other, join_request(group, **fields.get("follower", {})), 9)
    if not fields:
        answer = asked(other, join_request(group, answer().member_id), 9)
    await_rebalance(client, group, first)
    leader = client.ask(join_request(group, first.member_id, **fields.get("leader", {})), 9)
    follower = answer()
    assert leader.generation_id == follower.generation_id == first.generation_id + 1
    given = {leader.member_id: b"0", follower.member_id: b"1"}
    assert sync(client, group, leader, **given).assignment == b"0"
    assert sync(other, group, follower).assignment == b"1"
    return leader, follower


def test_a_second_member_waits_for_the_first(client: Client, other: Client, group: str) -> None:
    leader, follower = two_members(client, other, group)
    assert {member.member_id for member in leader.members} == {
        leader.member_id,
        follower.member_id,
    }
    assert (follower.members, follower.leader) == ([], leader.member_id)


def test_a_follower_may_ask_twice_and_a_leader_starts_anew(
    client: Client, other: Client, group: str
) -> None:
    leader, follower = two_members(client, other, group)
    again = other.ask(join_request(group, follower.member_id), 9)
    assert (again.error_code, again.generation_id) == (0, leader.generation_id)
    answer = asked(client, join_request(group, leader.member_id), 9)
    await_rebalance(other, group, follower)
    assert sync(other, group, follower).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    next_one = other.ask(join_request(group, follower.member_id), 9)
    assert answer().generation_id == next_one.generation_id == leader.generation_id + 1


def test_other_metadata_starts_a_rebalance(client: Client, other: Client, group: str) -> None:
    leader, follower = two_members(client, other, group)
    changed = [JoinGroupRequestProtocol(name="range", metadata=METADATA + b"!")]
    answer = asked(other, join_request(group, follower.member_id, protocols=changed), 9)
    await_rebalance(client, group, leader)
    next_one = client.ask(join_request(group, leader.member_id), 9)
    assert answer().generation_id == next_one.generation_id
    told = {member.member_id: member.metadata for member in next_one.members}
    assert told[follower.member_id] == METADATA + b"!"


def test_who_shares_no_protocol_is_refused(client: Client, other: Client, group: str) -> None:
    stable_member(client, group)
    stranger = [JoinGroupRequestProtocol(name="sticky", metadata=METADATA)]
    refused = other.ask(join_request(group, protocols=stranger), 3)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    refused = other.ask(join_request(group, protocol_type="connect"), 3)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_static_leader_comes_back(client: Client, group: str, version: int) -> None:
    first = join(client, group, group_instance_id="i")
    sync(client, group, first, **{first.member_id: b"all"})
    back = client.ask(join_request(group, group_instance_id="i"), version)
    assert (back.error_code, back.generation_id) == (0, first.generation_id)
    assert back.member_id != first.member_id
    if version >= 9:
        assert (back.skip_assignment, back.leader) == (True, back.member_id)
        assert [member.group_instance_id for member in back.members] == ["i"]
    else:
        assert (back.leader, back.members) == (first.member_id, [])
    assert sync(client, group, back).assignment == b"all"
    fenced = heartbeat(client, group, first, group_instance_id="i")
    assert fenced == ErrorCode.FENCED_INSTANCE_ID
    rejoined = client.ask(join_request(group, first.member_id, group_instance_id="i"), version)
    assert rejoined.error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_static_follower_comes_back_unnoticed(client: Client, other: Client, group: str) -> None:
    static = {"leader": {"group_instance_id": "l"}, "follower": {"group_instance_id": "f"}}
    leader, _ = two_members(client, other, group, **static)
    back = other.ask(join_request(group, group_instance_id="f"), 9)
    assert (back.error_code, back.generation_id) == (0, leader.generation_id)
    assert (back.skip_assignment, back.leader) == (False, leader.member_id)
    assert sync(other, group, back).assignment == b"1"
    assert heartbeat(client, group, leader, group_instance_id="l") == 0


def test_while_the_leader_assigns_a_leave_starts_anew(
    client: Client, other: Client, group: str
) -> None:
    leader, follower = two_members(client, other, group)
    answer = asked(client, join_request(group, leader.member_id), 9)
    await_rebalance(other, group, follower)
    follower = other.ask(join_request(group, follower.member_id), 9)
    leader = answer()
    waiting = asked(other, _sync(group, follower), 3)
    assert heartbeat(client, group, leader) == 0
    leaving = [MemberIdentity(member_id=leader.member_id)]
    left = client.ask(LeaveGroupRequest(group_id=group, members=leaving))
    assert left.members[0].error_code == 0
    assert waiting().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    alone = other.ask(join_request(group, follower.member_id), 9)
    assert alone.leader == follower.member_id


def _sync(group: str, joined: Any) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group, generation_id=joined.generation_id, member_id=joined.member_id
    )
