"""Heartbeat, in every version."""

import pytest

from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import heartbeat, new_group, stable_member


@pytest.mark.parametrize("version", range(5))
def test_a_member_lives(client: Client, version: int) -> None:
    group = new_group(client)
    member = stable_member(client, group)
    assert heartbeat(client, group, member, version) == 0
    old = heartbeat(client, group, member, version, generation_id=0)
    assert old == ErrorCode.ILLEGAL_GENERATION
    stranger = heartbeat(client, group, member, version, member_id="stranger")
    assert stranger == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_is_not_there_has_no_members(client: Client) -> None:
    member = stable_member(client, new_group(client))
    assert heartbeat(client, new_group(client), member) == ErrorCode.UNKNOWN_MEMBER_ID
    assert heartbeat(client, "", member) == ErrorCode.INVALID_GROUP_ID


def test_an_unknown_instance_is_no_member(client: Client) -> None:
    group = new_group(client)
    member = stable_member(client, group)
    answer = heartbeat(client, group, member, group_instance_id="i")
    assert answer == ErrorCode.UNKNOWN_MEMBER_ID
