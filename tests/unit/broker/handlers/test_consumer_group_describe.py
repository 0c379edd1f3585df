"""ConsumerGroupDescribe, in every version."""

import pytest

from ottla.protocol.apis.consumer_group_describe import ConsumerGroupDescribeRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.consumer_members import owning_member, topic_id
from tests.unit.broker.handlers.groups import new_group, stable_member


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_and_its_members(client: Client, version: int) -> None:
    topic, group = client.new_topic(partitions=2), new_group(client)
    owning_member(client, group, topic)
    asked = ConsumerGroupDescribeRequest(group_ids=[group])
    [found] = client.ask(asked, version).groups
    assert (found.error_code, found.group_state, found.assignor_name) == (0, "Stable", "uniform")
    assert (found.group_epoch, found.assignment_epoch) == (2, 2)
    [member] = found.members
    assert (member.member_id, member.client_id) == ("member-of-the-test", "test")
    assert (member.client_host, member.subscribed_topic_names) == ("/127.0.0.1", [topic])
    assert member.member_type == (1 if version else -1)
    for assignment in (member.assignment, member.target_assignment):
        [owned] = assignment.topic_partitions
        assert (owned.topic_name, sorted(owned.partitions)) == (topic, [0, 1])
        assert owned.topic_id == topic_id(client, topic)


def test_groups_that_are_none(client: Client) -> None:
    classic, missing = new_group(client), new_group(client)
    stable_member(client, classic)
    asked = ConsumerGroupDescribeRequest(group_ids=[classic, missing])
    said = [(each.error_code, each.error_message) for each in client.ask(asked).groups]
    assert said == [
        (ErrorCode.GROUP_ID_NOT_FOUND, f"Group {classic} is not a consumer group."),
        (ErrorCode.GROUP_ID_NOT_FOUND, f"Group {missing} not found."),
    ]


def test_what_one_may_do_is_told_if_asked(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    owning_member(client, group, topic)
    asked = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    [found] = client.ask(asked).groups
    assert {bit for bit in range(32) if found.authorized_operations >> bit & 1} >= {3, 6, 8}
