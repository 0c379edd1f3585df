"""OffsetDelete: positions are forgotten, unless somebody reads on from them."""

from ottla.protocol.apis.offset_delete import OffsetDeleteRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import (
    commit,
    commit_as,
    delete,
    fetch,
    join,
    new_group,
)


def errors(response: object) -> dict[int, int]:
    [topic] = response.topics  # type: ignore[attr-defined]
    return {each.partition_index: each.error_code for each in topic.partitions}


def test_an_offset_is_forgotten(client: Client) -> None:
    topic, group = client.new_topic(2), new_group(client)
    commit(client, group, topic, {0: 5, 1: 6})
    assert errors(delete(client, group, topic, [0])) == {0: 0}
    found = fetch(client, group, topic, [0, 1])
    assert (found[0].offset, found[1].offset) == (-1, 6)


def test_forgetting_what_was_never_known_is_no_error(client: Client) -> None:
    topic, group = client.new_topic(2), new_group(client)
    commit(client, group, topic, {0: 5})
    assert errors(delete(client, group, topic, [0, 1])) == {0: 0, 1: 0}


def test_partitions_and_topics_that_do_not_exist_are_unknown(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    commit(client, group, topic, {0: 5})
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors(delete(client, group, topic, [0, 9])) == {0: 0, 9: unknown}
    commit(client, group, topic, {0: 5})
    assert errors(delete(client, group, "no-such-topic", [0])) == {0: unknown}


def test_a_group_that_does_not_exist_is_not_found(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    response = delete(client, group, topic, [0])
    assert (response.error_code, response.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    nothing = client.ask(OffsetDeleteRequest(group_id=group), 0)
    assert nothing.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_must_have_a_name(client: Client) -> None:
    topic = client.new_topic()
    new_group(client)
    assert delete(client, "", topic, [0]).error_code == ErrorCode.INVALID_GROUP_ID


def test_a_live_group_keeps_the_offsets_of_what_it_reads(client: Client) -> None:
    read, left, group = client.new_topic(), client.new_topic(), new_group(client)
    member = join(client, group, read)
    for topic in (read, left):
        assert commit_as(client, group, topic, member, 5) == 0
    assert errors(delete(client, group, read, [0])) == {0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert errors(delete(client, group, left, [0])) == {0: 0}
    assert fetch(client, group, read, [0])[0].offset == 5
    assert fetch(client, group, left, [0])[0].offset == -1


def test_members_that_are_no_consumers_keep_all(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    member = join(client, group, topic, protocol_type="connect")
    assert commit_as(client, group, topic, member, 5) == 0
    assert delete(client, group, topic, [0]).error_code == ErrorCode.NON_EMPTY_GROUP
