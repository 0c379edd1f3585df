"""ConsumerGroupHeartbeat, in every version."""

import pytest

from ottla.protocol.apis.api_versions import ApiVersionsRequest
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.apis.delete_groups import DeleteGroupsRequest
from ottla.protocol.apis.describe_groups import DescribeGroupsRequest
from ottla.protocol.apis.list_groups import ListGroupsRequest
from ottla.protocol.errors import ErrorCode
from tests.conftest import SETTINGS
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.consumer_members import join_request, owning_member, topic_id
from tests.unit.broker.handlers.groups import new_group


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_gets_what_it_wants(client: Client, version: int) -> None:
    topic, group = client.new_topic(partitions=2), new_group(client)
    member = owning_member(client, group, topic, version)
    assert (member.member_id, member.member_epoch) == ("member-of-the-test", 2)
    assert member.heartbeat_interval_ms == int(SETTINGS["group.consumer.heartbeat.interval.ms"])
    [owned] = member.assignment.topic_partitions
    assert (owned.topic_id, sorted(owned.partitions)) == (topic_id(client, topic), [0, 1])


def test_version_0_gives_a_member_its_id(client: Client) -> None:
    joined = client.ask(join_request(new_group(client), "t", member_id=""), 0)
    assert (joined.error_code, len(joined.member_id)) == (0, 22)


def test_refusals_say_why(client: Client) -> None:
    group = new_group(client)
    refused = client.ask(join_request(group, "t", server_assignor="none"))
    assert refused.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "none" in refused.error_message
    refused = client.ask(join_request(group, subscribed_topic_regex="("))
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    refused = client.ask(join_request(group, "t", member_epoch=3, topic_partitions=None))
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    refused = client.ask(join_request("", "t"))
    assert refused.error_code == ErrorCode.INVALID_REQUEST


def test_who_left_is_not_known_any_more(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = owning_member(client, group, topic)
    leave = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member.member_id, member_epoch=-1
    )
    left = client.ask(leave)
    assert (left.error_code, left.member_epoch) == (0, -1)
    assert client.ask(leave).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_group_is_listed_and_deleted_as_any_other(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = owning_member(client, group, topic)
    listed = client.ask(ListGroupsRequest(types_filter=["Consumer"])).groups
    [mine] = [each for each in listed if each.group_id == group]
    assert (mine.group_state, mine.group_type) == ("Stable", "consumer")
    assert mine.protocol_type == "consumer"
    [classic] = client.ask(DescribeGroupsRequest(groups=[group])).groups
    assert classic.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    [refused] = client.ask(DeleteGroupsRequest(groups_names=[group])).results
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
    client.ask(
        ConsumerGroupHeartbeatRequest(group_id=group, member_id=member.member_id, member_epoch=-1)
    )
    [deleted] = client.ask(DeleteGroupsRequest(groups_names=[group])).results
    assert deleted.error_code == 0


def test_the_feature_is_advertised(client: Client) -> None:
    asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    features = {each.name: each for each in client.ask(asked, 4).finalized_features}
    assert features["group.version"].max_version_level == 1
