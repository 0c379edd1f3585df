"""SyncGroup, in every version."""

import pytest

from ottla.protocol.apis.sync_group import SyncGroupRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.groups import join, new_group, sync


@pytest.mark.parametrize("version", range(6))
def test_the_leader_assigns(client: Client, version: int) -> None:
    group = new_group(client)
    joined = join(client, group)
    answer = sync(client, group, joined, version, **{joined.member_id: b"all", "stranger": b"x"})
    assert (answer.error_code, answer.assignment) == (0, b"all")
    assert answer.protocol_name == ("range" if version >= 5 else None)
    assert sync(client, group, joined, version).assignment == b"all"


def test_strangers_and_old_generations_are_refused(client: Client) -> None:
    group = new_group(client)
    joined = join(client, group)
    joined.generation_id -= 1
    assert sync(client, group, joined).error_code == ErrorCode.ILLEGAL_GENERATION
    joined.member_id = "stranger"
    assert sync(client, group, joined).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(client, "", joined).error_code == ErrorCode.INVALID_GROUP_ID
    assert sync(client, new_group(client), joined).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_version_5_must_name_the_protocol(client: Client) -> None:
    group = new_group(client)
    joined = join(client, group)
    request = SyncGroupRequest(group_id=group, generation_id=1, member_id=joined.member_id)
    assert client.ask(request, 4).error_code == 0
    assert client.ask(request, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
