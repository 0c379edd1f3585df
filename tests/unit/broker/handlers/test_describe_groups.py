"""DescribeGroups, in every version."""

import pytest

from ottla.protocol.apis.describe_groups import DescribeGroupsRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import METADATA, join, new_group, stable_member


@pytest.mark.parametrize("version", range(7))
def test_a_group_and_its_members(client: Client, version: int) -> None:
    group = new_group(client)
    joined = stable_member(client, group)
    [found] = client.ask(DescribeGroupsRequest(groups=[group]), version).groups
    assert (found.error_code, found.group_state, found.protocol_type) == (0, "Stable", "consumer")
    assert found.protocol_data == "range"
    [member] = found.members
    assert (member.member_id, member.client_id) == (joined.member_id, "test")
    assert (member.client_host, member.member_metadata) == ("/127.0.0.1", METADATA)
    assert member.member_assignment == b"all"


def test_who_owns_what_is_not_known_before_the_group_is_stable(client: Client) -> None:
    group = new_group(client)
    join(client, group)
    [found] = client.ask(DescribeGroupsRequest(groups=[group])).groups
    assert (found.group_state, found.protocol_data) == ("CompletingRebalance", "")
    assert (found.members[0].member_metadata, found.members[0].member_assignment) == (b"", b"")


@pytest.mark.parametrize("version", [5, 6])
def test_a_group_that_is_not_there(client: Client, version: int) -> None:
    group = new_group(client)
    for missing in client.ask(DescribeGroupsRequest(groups=[group, ""]), version).groups:
        said = f"Group {missing.group_id} not found."
        assert missing.group_state == "Dead"
        assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
        assert missing.error_message == (said if version >= 6 else None)


def test_what_one_may_do_is_told_if_asked(client: Client) -> None:
    group = new_group(client)
    stable_member(client, group)
    asked = DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
    [found] = client.ask(asked).groups
    assert {bit for bit in range(32) if found.authorized_operations >> bit & 1} >= {3, 6, 8}
