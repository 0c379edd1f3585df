"""DescribeGroupHistory: a client of ottla asks what became of a group, and puts its offsets back."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest
from ottla.protocol.apis.delete_groups import DeleteGroupsRequest
from ottla.protocol.apis.describe_group_history import DescribeGroupHistoryRequest
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import (
    commit,
    commit_as,
    fetch,
    join,
    new_group,
    wait_until_coordinated,
)

pytestmark = pytest.mark.usefixtures("ottla_only")


def history(client: Client, group: str) -> Any:
    request = DescribeGroupHistoryRequest(group_ids=[group])
    [found] = client.ask(request, 0).groups
    assert found.group_id == group
    return found


def moves(found: Any) -> list[tuple[int, int]]:
    """What became of partition 0."""
    return [
        (move.offset_before, move.offset_after)
        for entry in found.commits
        for topic in entry.topics
        for move in topic.partitions
        if move.partition_index == 0
    ]


def test_it_tells_who_came_who_owned_what_and_who_moved_the_offsets(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = join(client, group, topic)
    commit_as(client, group, topic, member, offset=500)
    commit_as(client, group, topic, member, offset=0)
    found = history(client, group)
    assert [event.what for event in found.events] == ["joined", "rebalance"]
    [generation] = found.generations
    assert (generation.generation, generation.protocol) == (1, "range")
    assert [owner.member_id for owner in generation.owners] == [member.member_id]
    forward, reset = found.commits
    assert (forward.action, forward.member_id, forward.client_id) == (
        "commit",
        member.member_id,
        "test",
    )
    assert (forward.only_forward, reset.only_forward) == (True, False)
    assert moves(found) == [(-1, 500), (500, 0)]


def test_a_reset_is_undone_from_it(client: Client) -> None:
    topic, group = client.new_topic(2), new_group(client)
    commit(client, group, topic, {0: 500, 1: 700})
    commit(client, group, topic, {0: 0, 1: 0})
    *_, reset = [entry for entry in history(client, group).commits if not entry.only_forward]
    [moved] = reset.topics
    before = {move.partition_index: move.offset_before for move in moved.partitions}
    commit(client, group, moved.name, before)
    offsets = [found.offset for found in fetch(client, group, topic, [0, 1]).values()]
    assert offsets == [500, 700]


def test_a_group_that_was_deleted_can_be_put_back(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = join(client, group, topic)
    commit_as(client, group, topic, member, offset=42)
    leaving = [MemberIdentity(member_id=member.member_id)]
    client.ask(LeaveGroupRequest(group_id=group, members=leaving))
    client.ask(DeleteGroupsRequest(groups_names=[group]))
    found = history(client, group)
    assert found.error_code == 0
    assert found.events[-1].what == "deleted"
    assert found.commits[-1].action == "delete"
    assert moves(found)[-1] == (42, -1)


def test_after_a_restart_it_tells_what_the_log_still_holds(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    settings = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
    broker = own_broker(settings)
    with closing(Client(broker.bootstrap)) as client:
        topic, group = client.new_topic(), new_group(client)
        member = join(client, group, topic)
        for offset in (5, 9, 3):
            commit_as(client, group, topic, member, offset=offset)
    broker.restart()
    with closing(Client(broker.bootstrap)) as client:
        wait_until_coordinated(client, group)
        found = history(client, group)
    assert moves(found) == [(-1, 9), (9, 3)]
    assert [each.generation for each in found.generations] == [1]


def test_nothing_is_known_of_a_group_that_never_was(client: Client) -> None:
    new_group(client)
    assert history(client, "never-was").error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("software", "is_told"), [("ottla", True), ("apache-kafka-java", False), ("librdkafka", False)]
)
def test_only_clients_of_ottla_are_told_of_it(client: Client, software: str, is_told: bool) -> None:
    request = ApiVersionsRequest(client_software_name=software, client_software_version="1")
    keys = {row.api_key for row in client.ask(request).api_keys}
    assert (ApiKey.DESCRIBE_GROUP_HISTORY in keys) is is_told
    assert ApiKey.REPLICA_ENDS not in keys
