"""JoinGroup, in every version."""

import pytest

from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import join, join_request, new_group


@pytest.mark.parametrize("version", range(10))
def test_the_first_member_leads(client: Client, version: int) -> None:
    joined = join(client, new_group(client), version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.leader == joined.member_id
    assert joined.member_id.startswith("test-")
    assert [member.member_id for member in joined.members] == [joined.member_id]
    assert joined.protocol_type == ("consumer" if version >= 7 else None)


def test_from_version_4_a_member_comes_back_with_its_id(client: Client) -> None:
    group = new_group(client)
    assert client.ask(join_request(group), 3).error_code == 0
    answer = client.ask(join_request(group), 4)
    assert (answer.error_code, answer.generation_id) == (ErrorCode.MEMBER_ID_REQUIRED, -1)
    assert answer.member_id


@pytest.mark.parametrize("version", [0, 6, 7, 9])
def test_refusals_can_be_read_in_every_version(client: Client, version: int) -> None:
    refused = client.ask(join_request(new_group(client), "nobody-1"), version)
    assert (refused.error_code, refused.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "nobody-1")
    assert refused.protocol_name == (None if version >= 7 else "")


def test_what_cannot_be_is_refused(client: Client) -> None:
    group = new_group(client)
    short = client.ask(join_request(group, session_timeout_ms=5999))
    assert short.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert client.ask(join_request("")).error_code == ErrorCode.INVALID_GROUP_ID
    without = client.ask(join_request(group, protocols=[]))
    assert without.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert without.protocol_name is None
