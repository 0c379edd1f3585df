"""LeaveGroup, in every version."""

import pytest

from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import heartbeat, join, new_group, stable_member


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves(client: Client, version: int) -> None:
    group = new_group(client)
    member = stable_member(client, group)
    request = LeaveGroupRequest(group_id=group, member_id=member.member_id)
    assert client.ask(request, version).error_code == 0
    assert client.ask(request, version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert heartbeat(client, group, member) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [3, 4, 5])
def test_several_leave_and_each_is_answered(client: Client, version: int) -> None:
    group = new_group(client)
    member = join(client, group, group_instance_id="i")
    leaving = [
        MemberIdentity(member_id="stranger"),
        MemberIdentity(member_id="not-it", group_instance_id="i"),
        MemberIdentity(group_instance_id="i", reason="moved away"),
    ]
    answer = client.ask(LeaveGroupRequest(group_id=group, members=leaving), version)
    assert answer.error_code == 0
    assert [(each.member_id, each.error_code) for each in answer.members] == [
        ("stranger", ErrorCode.UNKNOWN_MEMBER_ID),
        ("not-it", ErrorCode.FENCED_INSTANCE_ID),
        ("", ErrorCode.NONE),
    ]
    gone = heartbeat(client, group, member, group_instance_id="i")
    assert gone == ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_leaves_a_group_that_is_not_there(client: Client) -> None:
    leaving = [MemberIdentity(member_id="a"), MemberIdentity(member_id="b")]
    request = LeaveGroupRequest(group_id=new_group(client), members=leaving)
    answer = client.ask(request)
    assert [each.error_code for each in answer.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    nameless = client.ask(LeaveGroupRequest(group_id="", members=leaving))
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID
