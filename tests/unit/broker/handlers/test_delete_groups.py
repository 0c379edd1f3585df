"""DeleteGroups, in every version."""

import pytest

from ottla.protocol.apis.delete_groups import DeleteGroupsRequest
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import new_group, stable_member


@pytest.mark.parametrize("version", range(3))
def test_only_empty_groups_go(client: Client, version: int) -> None:
    group = new_group(client)
    member = stable_member(client, group)

    def delete() -> int:
        request = DeleteGroupsRequest(groups_names=[group, "no-such-group", ""])
        codes = {each.group_id: each.error_code for each in client.ask(request, version).results}
        assert codes["no-such-group"] == codes[""] == ErrorCode.GROUP_ID_NOT_FOUND
        return int(codes[group])

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    leaving = [MemberIdentity(member_id=member.member_id)]
    client.ask(LeaveGroupRequest(group_id=group, members=leaving))
    assert delete() == ErrorCode.NONE
    assert delete() == ErrorCode.GROUP_ID_NOT_FOUND
